// How the threads of a workgroup share rows. A row has `row_threads` threads, a power of two from 8 to 256, so that short rows lie
// side by side in one workgroup; a thread takes every row_threads-th Value of its row and keeps the first KEEP of them in registers.
// What each thread found in its part of the row is combined by a tree whose shape depends on row_threads alone: the same bits every
// time. Joined with a kernel that declares `alias Part` and `fn combine(a: Part, b: Part) -> Part`.

const THREADS: u32 = 256u;
const KEEP: u32 = 4u;  // rows of 256 * 4 Values, 4096 floats as vec4, are read once; longer ones read the rest again
var<workgroup> parts: array<Part, THREADS>;

// The combination of the parts of all threads of this thread's row. Four parts become one in a step, which needs half the barriers of
// a tree of pairs. It holds barriers: call it in uniform control flow, and put one more between two calls.
fn combine_over_row(part: Part, thread: u32, row_threads: u32) -> Part {
  let seat = thread & (row_threads - 1u);
  parts[thread] = part;
  workgroupBarrier();
  for (var width = row_threads; width > 1u; width = max(width / 4u, 1u)) {
    let step = max(width / 4u, 1u);
    if (seat < step) {
      var whole = parts[thread];
      for (var other = step; other < width; other += step) {
        whole = combine(whole, parts[thread + other]);
      }
      parts[thread] = whole;
    }
    workgroupBarrier();
  }
  return parts[thread - seat];
}

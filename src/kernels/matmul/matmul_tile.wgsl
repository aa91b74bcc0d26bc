// What the tiled products share: one workgroup of 16 x 16 threads computes a tile of 64 x 64 values of Y, each thread 4
// x 4 of them. A step takes 16 terms of the sums; its parts of X and W lie in workgroup memory twice, so that one is
// filled while the other is used: 2 * (1024 + 1024) floats are the 16,384 bytes that every adapter has.
// Grid: (ceil(columns / 64), ceil(rows / 64), parts), or a rectangle that covers a range of these tiles counted row by
// row, from first_group() on. With several parts, each has its share of the steps and writes a Y of its own, one behind
// the other. Out of range nothing is read; a partial tile is filled with zeros and only its part of Y is written.

const TILE: u32 = 64u;
const STEP: u32 = 16u;
const BUFFER: u32 = 256u;  // vec4 of one buffer: 64 x 16 values

var<workgroup> x_tile: array<vec4<f32>, 512>;
var<workgroup> w_tile: array<vec4<f32>, 512>;

struct Place {
  row: u32,    // first of the tile
  column: u32,
  begin: u32,  // terms of the sum
  end: u32,
  start: u32,  // of this part's Y, in values
}

fn place_of(group: vec3<u32>, groups: vec3<u32>) -> Place {
  let across = (params.y + TILE - 1u) / TILE;
  let tile = first_group() + group.x + group.y * groups.x;
  let steps = (params.z + STEP - 1u) / STEP;
  let steps_of_part = (steps + groups.z - 1u) / groups.z;
  var place: Place;
  place.row = tile / across * TILE;
  place.column = tile % across * TILE;
  place.begin = group.z * steps_of_part * STEP;
  place.end = min(place.begin + steps_of_part * STEP, params.z);
  place.start = group.z * params.x * params.y;
  return place;
}

fn store(start: u32, row: u32, column: u32, value: f32) {
  if (row < params.x && column < params.y) {
    let index = start + row * params.y + column;
    if ((params.w & ACCUMULATE) != 0u) {
      y[index] += value;
    } else {
      y[index] = value;
    }
  }
}

/// Four values of a row of Y, `stride` columns apart.
fn store_four(start: u32, row: u32, column: u32, stride: u32, values: vec4<f32>) {
  store(start, row, column, values.x);
  store(start, row, column + stride, values.y);
  store(start, row, column + 2u * stride, values.z);
  store(start, row, column + 3u * stride, values.w);
}


// Logits of the tokens of `previous`, made less likely, over a copy of all logits: one above 0 is divided, another multiplied. Each is
// computed from the logit itself, so a token that stands twice is penalised once; several threads may then store the same bits.
//   binding 0  read        logits    (rows, V) f32
//   binding 1  read        previous  (rows, L) u32, ids of V or more are skipped
//   binding 2  read_write  penalised (rows, V) f32 as bits, already a copy of logits
//   binding 3  uniform     Params
// Grid: ceil(rows * L / 256), folded on x and y.

struct Params {
  count: u32,   // rows * L
  length: u32,  // L
  columns: u32,  // V
  penalty: f32,
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> previous: array<u32>;
@group(0) @binding(2) var<storage, read_write> penalised: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let index = (group.x + group.y * groups.x) * 256u + thread;
  if (index >= params.count) {
    return;
  }
  let token = previous[index];
  if (token < params.columns) {
    let place = index / params.length * params.columns + token;
    let logit = logits[place];
    let lower = select(logit * params.penalty, logit / params.penalty, logit > 0.0);
    atomicStore(&penalised[place], bitcast<u32>(lower));
  }
}

// A workgroup makes whole sums: it takes all terms and writes into the one Y.
struct Share {
  begin: u32,  // terms of the sums
  end: u32,
  start: u32,  // of Y in its buffer, in values
}

fn share_of(part: u32, parts: u32) -> Share {
  return Share(0u, params.z, 0u);
}

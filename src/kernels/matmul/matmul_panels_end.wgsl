// The end of a step, and of the product: behind matmul_panels_terms.wgsl.
    if (W_BUFFERS == 1u) {
      workgroupBarrier();
    } else {
      buffer = W_BUFFER - buffer;
    }
    put_w(buffer, thread, w_next, w_factor);
    workgroupBarrier();
  }

  finish_block(c00, place, back, area, lane, adds, is_mine);
  finish_block(c01, place + 16u, back, area, lane, adds, is_mine);
  finish_block(c02, place + 32u, back, area, lane, adds, is_mine);
  finish_block(c03, place + 48u, back, area, lane, adds, is_mine);
  finish_block(c10, place + line, back, area, lane, adds, is_mine);
  finish_block(c11, place + line + 16u, back, area, lane, adds, is_mine);
  finish_block(c12, place + line + 32u, back, area, lane, adds, is_mine);
  finish_block(c13, place + line + 48u, back, area, lane, adds, is_mine);
  finish_block(c20, place + 2u * line, back, area, lane, adds, is_mine);
  finish_block(c21, place + 2u * line + 16u, back, area, lane, adds, is_mine);
  finish_block(c22, place + 2u * line + 32u, back, area, lane, adds, is_mine);
  finish_block(c23, place + 2u * line + 48u, back, area, lane, adds, is_mine);
  finish_block(c30, place + 3u * line, back, area, lane, adds, is_mine);
  finish_block(c31, place + 3u * line + 16u, back, area, lane, adds, is_mine);
  finish_block(c32, place + 3u * line + 32u, back, area, lane, adds, is_mine);
  finish_block(c33, place + 3u * line + 48u, back, area, lane, adds, is_mine);
}

// Sixteen terms of a step: behind matmul_panels.wgsl as often as a step has them, written out so that no driver makes a loop of it.
    {
      x_place = min(x_place + 1024u, x_last);
      let n0 = x_block(x_place, 0u);
      let n1 = x_block(x_place, 1u);
      let n2 = x_block(x_place, 2u);
      let n3 = x_block(x_place, 3u);
      let b0 = w_block(buffer, term, 0u);
      c00 = subgroupMatrixMultiplyAccumulate(a0, b0, c00);
      c10 = subgroupMatrixMultiplyAccumulate(a1, b0, c10);
      c20 = subgroupMatrixMultiplyAccumulate(a2, b0, c20);
      c30 = subgroupMatrixMultiplyAccumulate(a3, b0, c30);
      let b1 = w_block(buffer, term, 16u);
      c01 = subgroupMatrixMultiplyAccumulate(a0, b1, c01);
      c11 = subgroupMatrixMultiplyAccumulate(a1, b1, c11);
      c21 = subgroupMatrixMultiplyAccumulate(a2, b1, c21);
      c31 = subgroupMatrixMultiplyAccumulate(a3, b1, c31);
      let b2 = w_block(buffer, term, 32u);
      c02 = subgroupMatrixMultiplyAccumulate(a0, b2, c02);
      c12 = subgroupMatrixMultiplyAccumulate(a1, b2, c12);
      c22 = subgroupMatrixMultiplyAccumulate(a2, b2, c22);
      c32 = subgroupMatrixMultiplyAccumulate(a3, b2, c32);
      let b3 = w_block(buffer, term, 48u);
      c03 = subgroupMatrixMultiplyAccumulate(a0, b3, c03);
      c13 = subgroupMatrixMultiplyAccumulate(a1, b3, c13);
      c23 = subgroupMatrixMultiplyAccumulate(a2, b3, c23);
      c33 = subgroupMatrixMultiplyAccumulate(a3, b3, c33);
      if (SPLIT) {
        c00 = subgroupMatrixMultiplyAccumulate(l0, b0, c00);
        c10 = subgroupMatrixMultiplyAccumulate(l1, b0, c10);
        c20 = subgroupMatrixMultiplyAccumulate(l2, b0, c20);
        c30 = subgroupMatrixMultiplyAccumulate(l3, b0, c30);
        c01 = subgroupMatrixMultiplyAccumulate(l0, b1, c01);
        c11 = subgroupMatrixMultiplyAccumulate(l1, b1, c11);
        c21 = subgroupMatrixMultiplyAccumulate(l2, b1, c21);
        c31 = subgroupMatrixMultiplyAccumulate(l3, b1, c31);
        c02 = subgroupMatrixMultiplyAccumulate(l0, b2, c02);
        c12 = subgroupMatrixMultiplyAccumulate(l1, b2, c12);
        c22 = subgroupMatrixMultiplyAccumulate(l2, b2, c22);
        c32 = subgroupMatrixMultiplyAccumulate(l3, b2, c32);
        c03 = subgroupMatrixMultiplyAccumulate(l0, b3, c03);
        c13 = subgroupMatrixMultiplyAccumulate(l1, b3, c13);
        c23 = subgroupMatrixMultiplyAccumulate(l2, b3, c23);
        c33 = subgroupMatrixMultiplyAccumulate(l3, b3, c33);
        l0 = x_block(x_place + lower, 0u);
        l1 = x_block(x_place + lower, 1u);
        l2 = x_block(x_place + lower, 2u);
        l3 = x_block(x_place + lower, 3u);
      }
      if (W_SPLIT) {
        let d0 = w_block(buffer + W_SIZE, term, 0u);
        c00 = subgroupMatrixMultiplyAccumulate(a0, d0, c00);
        c10 = subgroupMatrixMultiplyAccumulate(a1, d0, c10);
        c20 = subgroupMatrixMultiplyAccumulate(a2, d0, c20);
        c30 = subgroupMatrixMultiplyAccumulate(a3, d0, c30);
        let d1 = w_block(buffer + W_SIZE, term, 16u);
        c01 = subgroupMatrixMultiplyAccumulate(a0, d1, c01);
        c11 = subgroupMatrixMultiplyAccumulate(a1, d1, c11);
        c21 = subgroupMatrixMultiplyAccumulate(a2, d1, c21);
        c31 = subgroupMatrixMultiplyAccumulate(a3, d1, c31);
        let d2 = w_block(buffer + W_SIZE, term, 32u);
        c02 = subgroupMatrixMultiplyAccumulate(a0, d2, c02);
        c12 = subgroupMatrixMultiplyAccumulate(a1, d2, c12);
        c22 = subgroupMatrixMultiplyAccumulate(a2, d2, c22);
        c32 = subgroupMatrixMultiplyAccumulate(a3, d2, c32);
        let d3 = w_block(buffer + W_SIZE, term, 48u);
        c03 = subgroupMatrixMultiplyAccumulate(a0, d3, c03);
        c13 = subgroupMatrixMultiplyAccumulate(a1, d3, c13);
        c23 = subgroupMatrixMultiplyAccumulate(a2, d3, c23);
        c33 = subgroupMatrixMultiplyAccumulate(a3, d3, c33);
      }
      a0 = n0;
      a1 = n1;
      a2 = n2;
      a3 = n3;
      term += 16u;
    }

/**
 * Small dense linear algebra for the throughput model: factorisation of a symmetric positive definite matrix, and
 * solving with it. Holds no state. A matrix is row-major in one Float64Array of size x size; only its lower triangle is
 * read.
 */
import { assert } from '../../core/errors.js';

/** Share of a diagonal entry below which a pivot is lost in the rounding of what was subtracted from the entry. */
const RESOLVED = 1e-12;
const ROUNDING = 1e-9;

/**
 * Lower triangle L of `matrix` = L x L^T. The matrix must be positive definite; one that is not is a bug of the caller.
 * One that is so nearly singular that its own digits do not tell (measurements that are fourteen orders of magnitude
 * apart) is replaced by the nearest matrix that they do.
 */
export function cholesky(matrix: Float64Array, size: number): Float64Array {
  const lower = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * size + j]!;
      for (let k = 0; k < j; k++) sum -= lower[i * size + k]! * lower[j * size + k]!;
      if (i !== j) lower[i * size + j] = sum / lower[j * size + j]!;
      else {
        const diagonal = matrix[i * size + i]!;
        assert(diagonal > 0 && sum > -ROUNDING * diagonal, 'a matrix to factorise is positive definite');
        lower[i * size + i] = Math.sqrt(Math.max(sum, RESOLVED * diagonal));
      }
    }
  }
  return lower;
}

/** x of L x L^T x x = `right`. */
export function solveFactored(lower: Float64Array, right: Float64Array): Float64Array {
  const size = right.length;
  const x = Float64Array.from(right);
  for (let i = 0; i < size; i++) {
    let sum = x[i]!;
    for (let k = 0; k < i; k++) sum -= lower[i * size + k]! * x[k]!;
    x[i] = sum / lower[i * size + i]!;
  }
  for (let i = size - 1; i >= 0; i--) {
    let sum = x[i]!;
    for (let k = i + 1; k < size; k++) sum -= lower[k * size + i]! * x[k]!;
    x[i] = sum / lower[i * size + i]!;
  }
  return x;
}

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** v^T x (L L^T)^-1 x v: the variance along `v` of a Gaussian whose precision matrix is L L^T. */
export function varianceAlong(lower: Float64Array, v: Float64Array): number {
  const size = v.length;
  const half = new Float64Array(size);
  let sum = 0;
  for (let i = 0; i < size; i++) {
    let x = v[i]!;
    for (let k = 0; k < i; k++) x -= lower[i * size + k]! * half[k]!;
    half[i] = x / lower[i * size + i]!;
    sum += half[i]! * half[i]!;
  }
  return sum;
}

/** The inverse of L L^T, as a full matrix. */
export function inverseFactored(lower: Float64Array, size: number): Float64Array {
  const inverse = new Float64Array(size * size);
  const unit = new Float64Array(size);
  for (let column = 0; column < size; column++) {
    unit.fill(0);
    unit[column] = 1;
    inverse.set(solveFactored(lower, unit), column * size);
  }
  return inverse;
}

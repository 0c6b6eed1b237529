/**
 * How long quiets of one kind lasted: by span of ages, how many ended there and how many came so far.
 *
 * One that ended counts for the ages around its own too, since the next will not end at the same minute. One that still
 * lasts counts as having come so far, so that the long ones are not overlooked while only short ones have ended.
 * Forgets by halving, and holds no quiet itself.
 */

/**
 * Ages in minutes at which spans begin: each minute up to 12, then each a tenth later up to 33 hours; the last span has
 * no end.
 */
export const SPAN_STARTS: readonly number[] = spanStarts();
export const SPANS = SPAN_STARTS.length;

function spanStarts(): number[] {
  const starts = Array.from({ length: 12 }, (_, minute) => minute);
  for (let minutes = 12; minutes < 2000; minutes *= 1.1) starts.push(minutes);
  return starts;
}

/** The end of a span, in minutes of age; for the last span, which has no end, the start of the next one. */
export const spanEnd = (span: number): number => SPAN_STARTS[span + 1] ?? SPAN_STARTS[span]! * 1.1;

/** The span that holds an age of some minutes, looked for from one that begins no later. */
export function spanOf(minutes: number, from: number): number {
  let span = from;
  while (span + 1 < SPANS && SPAN_STARTS[span + 1]! <= minutes) span++;
  return span;
}

/** How far apart two lengths may be, as a logarithm of their ratio, for one to say something of the other. */
const LIKENESS = 0.55;

/**
 * For each span the weights that a quiet which ended in it has for all spans: a kernel over the logarithm of the
 * length, which sums to 1.
 */
const KERNEL = SPAN_STARTS.map((_, ended) => {
  const middle = (span: number): number => (SPAN_STARTS[span]! + spanEnd(span)) / 2;
  const weights = SPAN_STARTS.map((start, span) => {
    // A quiet of less than a minute is a sample or two between others, and says nothing of a pause.
    if (ended === 0 || span === 0) return ended === span ? 1 : 0;
    return Math.max(0, 1 - Math.abs(Math.log(middle(span) / middle(ended))) / LIKENESS) * (spanEnd(span) - start);
  });
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.flatMap((weight, span) => (weight > 0 ? [{ span, weight: weight / sum }] : []));
});

export class Quiets {
  /** By span: those that ended in it, in work. */
  readonly ended = new Float64Array(SPANS);
  /** By span: those that came as far and still last, or were lost sight of there. */
  readonly cameTo = new Float64Array(SPANS);
  private readonly lost = new Float64Array(SPANS);
  private size = 0;

  /** @param most when more than so many have ended, all that ended or were lost count half from then on. */
  constructor(private readonly most: number) {}

  begin(): void {
    this.cameTo[0]!++;
  }

  /** One that lasts is in a later span now. */
  move(from: number, to: number): void {
    this.cameTo[from]!--;
    this.cameTo[to]!++;
  }

  /** One ended in work. */
  end(at: number): void {
    this.cameTo[at]!--;
    for (const { span, weight } of KERNEL[at]!) this.ended[span]! += weight;
    if (++this.size > this.most) this.forget();
  }

  /** One is out of sight: it came to its span, and what became of it is unknown. */
  lose(at: number): void {
    this.lost[at]!++;
  }

  private forget(): void {
    this.size /= 2;
    for (let span = 0; span < SPANS; span++) {
      this.ended[span]! /= 2;
      this.lost[span]! /= 2;
      this.cameTo[span]! -= this.lost[span]!;
    }
  }
}

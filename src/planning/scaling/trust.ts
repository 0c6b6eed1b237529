/**
 * Two views of the load ahead, weighted by how well each foretold so far: one that follows surges, one without memory.
 *
 * Knows only what was foretold and what came. A view is a shortfall: expected load beyond k replicas, whose steps are
 * how much of the k-th replica is expected to be needed. Its score is the squared error of these needs, summed over the
 * replicas (the Brier score, replica by replica); the weights are exponential in the scores. To begin with the view
 * without memory is the likelier: where it is wrong a fleet is held for some minutes too long, but a replica let go for
 * a quiet minute is missed, and paid, for a whole boot.
 */

/** A score counts half after some seventy minutes. */
const FORGETTING = 0.99;
/** How much a share of the better score counts. */
const SHARPNESS = 10;
/** Odds of the view without memory before anything is scored; forgotten as the scores are. */
const MEMORYLESS_ODDS = 7;

interface Foretold {
  readonly following: Float64Array;
  readonly memoryless: Float64Array;
}

export class Trust {
  private readonly pending: Foretold[] = [];
  private followingScore = 0;
  private memorylessScore = 0;
  private priorLogOdds = Math.log(MEMORYLESS_ODDS);

  /** @param leadMinutes minutes between the one in which a view is given and the one that it is about. */
  constructor(private readonly leadMinutes: number) {}

  /**
   * Takes the load of the minute that just ended, in replicas, and scores what was said about it. Until the first
   * forecast minute arrives, the first views are scored by the minutes before it: a load that cannot be forecast a
   * short time ahead cannot be forecast further ahead.
   */
  observe(load: number): void {
    const oldest = this.pending.length > this.leadMinutes ? this.pending.shift() : this.pending[0];
    if (oldest === undefined) return;
    const { following, memoryless } = oldest;
    this.priorLogOdds *= FORGETTING;
    this.followingScore = this.followingScore * FORGETTING + scoreOf(following, load);
    this.memorylessScore = this.memorylessScore * FORGETTING + scoreOf(memoryless, load);
  }

  /** The blended view of the same minute; both are remembered until that minute has come. */
  blend(following: Float64Array, memoryless: Float64Array): Float64Array {
    this.pending.push({ following, memoryless });
    const least = Math.max(1e-9, Math.min(this.followingScore, this.memorylessScore));
    const logOdds = this.priorLogOdds + (SHARPNESS * (this.followingScore - this.memorylessScore)) / least;
    const share = 1 / (1 + Math.exp(logOdds));
    return following.map((value, k) => share * value + (1 - share) * memoryless[k]!);
  }
}

/** Squared errors of the expected needs of a view, summed over the replicas; lower is better. */
export function scoreOf(shortfall: Float64Array, load: number): number {
  let sum = 0;
  for (let k = 0; k + 1 < shortfall.length; k++) {
    const needed = Math.min(1, Math.max(0, load - k));
    sum += (shortfall[k]! - shortfall[k + 1]! - needed) ** 2;
  }
  return sum;
}

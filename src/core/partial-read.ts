/**
 * Reads a connection's data part by part: regions, projects, kinds, instance types.
 *
 * The invariant: an unreadable part is reported, and hides nothing of the others; if nobody receives the report, or
 * nothing at all could be read, it is a failure. A missing part is read again from its own last position, however far
 * the others have advanced.
 */
import { Failure } from './errors.js';
import { HOUR_MS } from './time.js';

export interface PartialRead {
  /**
   * From when on a part is asked for that could not be read last time, in epoch milliseconds; null: it was read then,
   * and is asked for from where the others are.
   */
  resumeFrom(part: string): number | null;
  /**
   * Told that a part could not be read, and why: the rest stands.
   * @param mayPass whether it may be there in a moment: an answer that was lost, a service that is away
   */
  lacks(part: string, problem: string, mayPass?: boolean): void;
}

/** A part that could not be read last time. */
export interface LackingPart {
  readonly part: string;
  readonly problem: string;
  /** Up to when it was read, in epoch milliseconds; null: it never was. */
  readonly readTo: number | null;
  /** How often in a row it was away; absent: it was refused, and nothing but somebody changes that. */
  readonly away?: number;
}

/** After one time away, and twice as long after each further one, up to what is asked again anyway. */
const AWAY_MS = 30_000;
const MOST_AWAY_MS = HOUR_MS;

/** Records the reported parts. */
export class RecordedRead implements PartialRead {
  private readonly found = new Map<string, LackingPart>();

  /**
   * @param before the parts that could not be read last time
   * @param readTo up to when the others were read then; null: nothing was
   * @param from from when on a part is asked for that was read up to an instant, or never
   */
  constructor(
    private readonly before: readonly LackingPart[],
    private readonly readTo: number | null,
    private readonly from: (readTo: number | null) => number,
  ) {}

  resumeFrom(part: string): number | null {
    const known = this.knownBefore(part);
    return known === undefined ? null : this.from(known.readTo);
  }

  lacks(part: string, problem: string, mayPass = false): void {
    const known = this.knownBefore(part);
    const earlier = this.found.get(part);
    this.found.set(part, {
      part,
      problem: earlier === undefined || earlier.problem === problem ? problem : `${earlier.problem}; ${problem}`,
      readTo: known === undefined ? this.readTo : known.readTo,
      ...(mayPass ? { away: (known?.away ?? 0) + 1 } : {}),
    });
  }

  /** After how many milliseconds to ask again for what may be there in a moment; null: nothing of that sort. */
  get againAfterMs(): number | null {
    const times = [...this.found.values()].flatMap(({ away }) => (away === undefined ? [] : [away]));
    return times.length === 0 ? null : Math.min(MOST_AWAY_MS, AWAY_MS * 2 ** (Math.min(...times) - 1));
  }

  /** Everything within a part that could not be read stays as old as it was. */
  get lacking(): readonly LackingPart[] {
    const within = this.before.filter(
      ({ part }) => !this.found.has(part) && [...this.found.keys()].some((other) => isWithin(part, other)),
    );
    return [...this.found.values(), ...within];
  }

  /** The part itself, or what it lies within: `us-east-1` of `us-east-1: traffic`. */
  private knownBefore(part: string): LackingPart | undefined {
    return this.before.find((one) => one.part === part) ?? this.before.find((other) => isWithin(part, other.part));
  }
}

const isWithin = (part: string, other: string): boolean => part.startsWith(`${other}: `);

/**
 * Everything of all parts, one after the other.
 * @param since from when on a part is read that does not lag behind, in epoch milliseconds
 * @param read one part from when on it is to be read
 * @throws Failure that of the first part if none could be read, or if there is no `partial` to tell
 */
export async function* eachPart<Item>(
  parts: readonly string[],
  since: number,
  partial: PartialRead | undefined,
  read: (part: string, since: number) => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const failed = new Map<string, Failure>();
  for (const part of parts) {
    try {
      yield* read(part, Math.min(since, partial?.resumeFrom(part) ?? since));
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      failed.set(part, failure);
    }
  }
  const [first] = failed.values();
  if (first !== undefined && (partial === undefined || failed.size === new Set(parts).size)) throw first;
  for (const [part, { message, kind }] of failed) partial?.lacks(part, message, kind === 'unavailable');
}

/** What is read of one part, or `otherwise` where it fails. @throws Failure if there is no `partial` to tell */
export async function orLacking<T>(
  partial: PartialRead | undefined,
  part: string,
  read: () => Promise<T>,
  otherwise: T,
): Promise<T> {
  try {
    return await read();
  } catch (failure) {
    if (!(failure instanceof Failure) || partial === undefined) throw failure;
    partial.lacks(part, failure.message, failure.kind === 'unavailable');
    return otherwise;
  }
}

/**
 * Limits what one caller may ask of this process: requests of a key or of an address, bodies in transit, and invalid
 * keys.
 *
 * A caller over a limit is refused before any work is done, with the seconds to wait. Counts are kept in memory; each
 * process counts for itself.
 */
import { isIPv6 } from 'node:net';
import type { KeyStore, Principal } from '../store/access/keys.js';
import { MOST_EXTRA_HOURS } from '../store/usage/delivery.js';
import { Refusal } from './problem.js';

export interface GateLimits {
  /** Requests a second of one key or signed-in user, on average over ten seconds. */
  readonly requestsPerKey: number;
  /** The same for an address without a key. */
  readonly requestsPerAddress: number;
  /** Invalid keys from one address within a minute; after that no other key is looked up for it. */
  readonly wrongKeysPerMinute: number;
  /** Bodies that one key may send at once; an address without a key: an eighth of that. */
  readonly bodiesAtOnce: number;
  /** A body that brings less than 1 KiB per second within such a window is dropped. */
  readonly slowBodySeconds: number;
  /** Sessions that one key may open at once; after that one every ten seconds. */
  readonly signInsAtOnce: number;
  /** Changes that any reader may make (saved questions, own sessions) at once; after that one every second. */
  readonly ownChangesAtOnce: number;
  /**
   * Milliseconds of this process that one caller's computed answers may take at once; after that a fifth of its time.
   */
  readonly computingMsAtOnce: number;
  /** Hours beyond 50 for each record over which one caller's usage may be spread at once; after that 500 a second. */
  readonly extraHoursAtOnce: number;
}

export const DEFAULT_GATE: GateLimits = {
  requestsPerKey: 500,
  requestsPerAddress: 100,
  wrongKeysPerMinute: 30,
  bodiesAtOnce: 256,
  slowBodySeconds: 10,
  signInsAtOnce: 60,
  ownChangesAtOnce: 60,
  computingMsAtOnce: 10_000,
  extraHoursAtOnce: MOST_EXTRA_HOURS,
};

/** The time over which a burst is averaged, in seconds. */
const BURST_SECONDS = 10;
const SIGN_IN_SECONDS = 10;
const COMPUTING_MS_A_SECOND = 200;
const EXTRA_HOURS_A_SECOND = 500;
const MOST_REMEMBERED = 20_000;
/** All bodies of known callers at once: four times the limit of one; of unknown callers: an eighth of that. */
const CALLERS_AT_ONCE = 4;

/** A token bucket for each name, filled evenly. Full buckets are forgotten first. */
class Buckets {
  private readonly buckets = new Map<string, { tokens: number; at: number }>();

  constructor(
    private readonly size: number,
    private readonly perSecond: number,
    private readonly now: () => number,
  ) {}

  /** Takes so many tokens. Seconds until there are enough; 0: they were taken. */
  take(name: string, count = 1): number {
    const wait = this.wait(name, count);
    if (wait > 0) return wait;
    this.charge(name, count);
    return 0;
  }

  /** Takes tokens for work already done: the balance may be negative afterwards. */
  charge(name: string, count: number): void {
    const now = this.now();
    const tokens = this.tokens(name, now) - count;
    // The latest caller is last: the first in the map has been silent for the longest time.
    this.buckets.delete(name);
    this.buckets.set(name, { tokens, at: now });
    if (this.buckets.size > MOST_REMEMBERED)
      for (const first of this.buckets.keys()) {
        this.buckets.delete(first);
        break;
      }
  }

  /** Seconds until there are enough tokens; 0: now. */
  wait(name: string, count = 1): number {
    const tokens = this.tokens(name, this.now());
    return tokens >= count ? 0 : (count - tokens) / this.perSecond;
  }

  private tokens(name: string, now: number): number {
    const bucket = this.buckets.get(name);
    if (bucket === undefined) return this.size;
    return Math.min(this.size, bucket.tokens + ((now - bucket.at) / 1000) * this.perSecond);
  }
}

const nameOf = ({ organisation, id, isUser }: Principal): string =>
  `${isUser === true ? 'user' : 'key'}:${organisation}/${id}`;

/** An IPv6 caller owns the 2^64 addresses of its network (RFC 6177): they count as one. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith('::ffff:')) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head.split(':').filter((group) => group !== '');
  // `::` stands for the missing groups of zeros; what follows belongs to the host.
  const behind = tail === undefined ? [] : tail.split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - behind.length) }, () => '0');
  return [...groups, ...(tail === undefined ? [] : zeros), ...behind]
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':');
}

export class Gate {
  private readonly keys: Buckets;
  private readonly addresses: Buckets;
  private readonly wrong: Buckets;
  /** Other secrets of a key, from addresses that have shown too many wrong keys. */
  private readonly guesses: Buckets;
  private readonly signIns: Buckets;
  private readonly ownChanges: Buckets;
  private readonly computed: Buckets;
  private readonly extraHours: Buckets;
  private readonly bodies = new Map<string, number>();
  private readonly allBodies = { known: 0, unknown: 0 };

  /** @param now monotonic milliseconds */
  constructor(
    readonly limits: GateLimits = DEFAULT_GATE,
    private readonly now: () => number = () => performance.now(),
  ) {
    const { requestsPerKey, requestsPerAddress, wrongKeysPerMinute } = limits;
    this.keys = new Buckets(requestsPerKey * BURST_SECONDS, requestsPerKey, now);
    this.addresses = new Buckets(requestsPerAddress * BURST_SECONDS, requestsPerAddress, now);
    this.wrong = new Buckets(wrongKeysPerMinute, wrongKeysPerMinute / 60, now);
    this.signIns = new Buckets(limits.signInsAtOnce, 1 / SIGN_IN_SECONDS, now);
    this.ownChanges = new Buckets(limits.ownChangesAtOnce, 1, now);
    this.computed = new Buckets(limits.computingMsAtOnce, COMPUTING_MS_A_SECOND, now);
    this.extraHours = new Buckets(limits.extraHoursAtOnce, EXTRA_HOURS_A_SECOND, now);
    this.guesses = new Buckets(wrongKeysPerMinute, wrongKeysPerMinute / 60, now);
  }

  /** Counts one more request. @throws Refusal 429 */
  pass(principal: Principal | null, address: string): void {
    const wait = principal === null ? this.addresses.take(networkOf(address)) : this.keys.take(nameOf(principal));
    if (wait > 0)
      throw tooMany(
        principal === null
          ? 'too many requests without a key come from this network'
          : 'this key sends too many requests',
        wait,
      );
  }

  /**
   * The owner of a key. From an address with too many wrong keys only keys are checked that have been valid before or
   * that exist, those a few times a minute: guessing stops, and other callers behind the same proxy go on, also after
   * keys changed or the process started. `now` is in epoch milliseconds.
   * @throws Refusal 429
   */
  async authenticate(keys: KeyStore, text: string, address: string, now: number): Promise<Principal | null> {
    const network = networkOf(address);
    const wait = this.wrong.wait(network);
    const named = wait > 0 ? await keys.named(text) : null;
    const isOften = named !== null && !named.hasHeld && this.guesses.wait(named.id) > 0;
    if (wait > 0 && (named === null || isOften)) throw tooMany('too many invalid keys came from this network', wait);
    const principal = await keys.authenticate(text, now);
    if (principal === null) {
      this.wrong.take(network);
      if (named !== null) this.guesses.take(named.id);
    }
    return principal;
  }

  /** A key opens one more session, which the audit records. @throws Refusal 429 */
  signIn(principal: Principal): void {
    const wait = this.signIns.take(nameOf(principal));
    if (wait > 0) throw tooMany('this key opens too many sessions', wait);
  }

  /** A change that any reader may make, which the audit records. @throws Refusal 429 */
  ownChange(principal: Principal): void {
    const wait = this.ownChanges.take(nameOf(principal));
    if (wait > 0) throw tooMany('this key makes too many changes at once', wait);
  }

  /**
   * An answer that is computed here while nobody else is served. @throws Refusal 429 if earlier ones used up the
   * caller's share of the process
   */
  compute<T>(principal: Principal, answer: () => T): T {
    const name = nameOf(principal);
    const wait = this.computed.wait(name);
    if (wait > 0) throw tooMany('the requests of this key take too much processor time', wait);
    const start = this.now();
    try {
      return answer();
    } finally {
      this.computed.charge(name, this.now() - start);
    }
  }

  /** Usage spread over so many hours beyond 50 for each record. @throws Refusal 429 */
  spread(principal: Principal, hours: number): void {
    const wait = this.extraHours.take(nameOf(principal), hours);
    if (wait > 0) throw tooMany('the records of this key are spread over too many hours', wait);
  }

  /** A body begins; returns the function to call at its end. @throws Refusal 429 */
  body(principal: Principal | null, address: string): () => void {
    const { bodiesAtOnce } = this.limits;
    const name = principal === null ? `address:${networkOf(address)}` : nameOf(principal);
    const under = this.bodies.get(name) ?? 0;
    const kind = principal === null ? 'unknown' : 'known';
    const most = principal === null ? Math.ceil(bodiesAtOnce / 8) : bodiesAtOnce;
    if (under >= most || this.allBodies[kind] >= most * CALLERS_AT_ONCE)
      throw tooMany('too many request bodies are being sent at once', 1);
    this.bodies.set(name, under + 1);
    this.allBodies[kind]++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.allBodies[kind]--;
      const left = (this.bodies.get(name) ?? 1) - 1;
      if (left === 0) this.bodies.delete(name);
      else this.bodies.set(name, left);
    };
  }
}

const tooMany = (what: string, waitSeconds: number): Refusal =>
  new Refusal(429, `${what}: try again in a moment`, Math.max(1, Math.ceil(waitSeconds)));

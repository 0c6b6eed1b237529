/**
 * What the clouds whose replies are read here field by field (Alibaba Cloud, Tencent Cloud, Azure) share: what a failed
 * call means, replies checked against their shape, regions read side by side, settings, and prices of whole instances.
 *
 * Never calls anybody and knows no SDK. The invariant: only what surely changed nothing is a failure or a refusal;
 * whatever may have arrived is unknown. An SDK's own error is never carried on: it holds the request with its
 * signature.
 */
import type { z } from 'zod';
import { isMember, TARGET_TAG } from '../core/fleet/membership.js';
import { parseDecimal, type Decimal } from '../core/decimal.js';
import { denied, Failure, invalid, NoCapacity, unavailable, type Problem } from '../core/errors.js';
import { holds, type Effect, type FleetReading, type FleetTarget } from '../core/fleet/fleet.js';
import { rateOf } from '../core/money.js';
import type { EffectOutcome } from '../core/ports.js';
import type { Price } from '../core/price/price.js';

export interface KeyPair {
  readonly id: string;
  readonly secret: string;
}

/** Which credentials a call is made with. */
export type Use = 'read' | 'act';

/**
 * What became of a call that failed. `throttled`: turned away, nothing was done; `full`: the cloud has no such machine
 * free now, nothing was done; `unsent`: no connection was made; `lost`: sent, and no answer that says what became of
 * it; `denied`: no permission, or credentials that are not accepted; `refused`: a plain no.
 */
export type Meaning =
  | { readonly kind: 'throttled' | 'full' | 'unsent' | 'lost'; readonly code: string }
  | { readonly kind: 'denied'; readonly code: string; readonly credentials: boolean }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string };

/** The only error that the clients of these clouds throw. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(readonly meaning: Meaning) {
    super(meaning.code);
  }
}

const MOST_CHARACTERS = 300;
const SIGNED =
  /\b(?:signature|access_?key_?id|secret_?id|security_?token|credential|string to sign)\b["']?\s*(?:is)?\s*[:=]\s*\S+/gi;

/** A cloud's own words, cut short and without anything of the credentials. */
export function scrubbed(text: string, keys: readonly (KeyPair | null)[]): string {
  let clean = text;
  for (const key of keys) {
    if (key !== null) clean = clean.replaceAll(key.secret, '***').replaceAll(key.id, '***');
  }
  return clean.replace(SIGNED, '***').slice(0, MOST_CHARACTERS);
}

function failureOf(cloud: string, permission: string, meaning: Meaning): Failure {
  switch (meaning.kind) {
    case 'throttled':
      return unavailable(`${cloud} throttled ${permission} (${meaning.code})`);
    case 'full':
      return noCapacity(cloud, permission, meaning.code);
    case 'unsent':
      return unavailable(`${cloud} could not be reached for ${permission} (${meaning.code})`);
    case 'lost':
      return unavailable(`${cloud} gave no answer to ${permission} (${meaning.code})`);
    case 'denied':
      return denied(
        meaning.credentials
          ? `${cloud} does not accept the credentials used for ${permission} (${meaning.code})`
          : `${cloud} denied ${permission} (${meaning.code}): the permission is missing`,
      );
    case 'refused':
      return invalid(`${cloud} refused ${permission} (${meaning.code}): ${meaning.detail}`);
  }
}

/**
 * Capacity comes back, as a price or a quota does not: what finds none is asked for again for a while. AWS' own words
 * are in aws/failures.ts.
 */
export const noCapacity = (cloud: string, permission: string, code: string): Failure =>
  new NoCapacity(`${cloud} has no capacity now for ${permission} (${code})`);

/**
 * Reads: a reply in the shape of `schema`.
 * @param permission such as `ecs:DescribeInstances`
 * @throws Failure for whatever goes wrong, naming the permission
 */
export async function reading<Schema extends z.ZodType>(
  cloud: string,
  permission: string,
  schema: Schema,
  call: () => Promise<unknown>,
): Promise<z.output<Schema>> {
  let reply: unknown;
  try {
    reply = await call();
  } catch (error) {
    throw error instanceof CallError ? failureOf(cloud, permission, error.meaning) : error;
  }
  const parsed = schema.safeParse(reply);
  if (parsed.success) return parsed.data;
  const problems: Problem[] = parsed.error.issues.map((issue) => ({
    path: issue.path.join('/'),
    message: issue.message,
  }));
  throw invalid(
    `${cloud} answered ${permission} in a shape that is not documented: ${problems
      .slice(0, 3)
      .map(({ path, message }) => `${path} ${message}`)
      .join('; ')}`,
    problems,
  );
}

/**
 * The answer of a call for something by its id, or `none` where the cloud refuses because there is no such thing
 * (`InvalidInstanceId.NotFound`).
 */
export async function orAbsent(call: Promise<unknown>, none: unknown): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CallError && error.meaning.kind === 'refused' && /NotFound(?:\.|$)/.test(error.meaning.code))
      return none;
    throw error;
  }
}

/** The reading, or null if its permission is missing: it is then unknown. @throws Failure otherwise */
export async function unlessDenied<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (failure) {
    if (failure instanceof Failure && failure.kind === 'denied') return null;
    throw failure;
  }
}

/** The reading, or null if it fails. @param tell receives the reason */
export async function unlessFailed<T>(read: () => Promise<T>, tell: (message: string) => void): Promise<T | null> {
  try {
    return await read();
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    tell(failure.message);
    return null;
  }
}

/**
 * Sends a request that acts, once.
 * @param call sends it and answers with the cloud's id of the request
 * @throws Failure unavailable or denied if nothing was changed
 */
export async function acting(
  cloud: string,
  permission: string,
  detail: string,
  call: () => Promise<string | null>,
): Promise<EffectOutcome> {
  try {
    return { kind: 'taken', reference: await call(), detail };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { meaning } = error;
    if (meaning.kind === 'lost')
      return { kind: 'unknown', detail: `the answer to ${permission} was lost (${meaning.code})` };
    if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, detail: meaning.detail };
    throw failureOf(cloud, permission, meaning);
  }
}

/** A refusal of our own: the cloud was not asked to change anything. */
export const refused = (code: string, detail: string): EffectOutcome => ({ kind: 'refused', code, detail });

/**
 * How long a request whose answer was lost may still be on its way: until then nobody can say that it never arrived.
 */
const SETTLING_MILLISECONDS = 60_000;

const MOST_REMEMBERED = 10_000;

/** This process' record of sent tokens: neither cloud can be asked about a token. */
export class Sent {
  private readonly at = new Map<string, number>();
  private readonly taken = new Map<string, EffectOutcome>();

  /** @param openedAt of tokens that an earlier process sent this is all that is known */
  constructor(private readonly openedAt: number) {}

  /** Applies an effect once per token: one that was taken is not sent again. */
  async applyOnce(token: string, now: number, apply: () => Promise<EffectOutcome>): Promise<EffectOutcome> {
    const before = this.taken.get(token);
    if (before !== undefined) return before;
    remember(this.at, token, now);
    const outcome = await apply();
    if (outcome.kind === 'taken') remember(this.taken, token, outcome);
    return outcome;
  }

  /** The outcome that was answered; undefined: none was. */
  answered(token: string): EffectOutcome | undefined {
    return this.taken.get(token);
  }

  /** The outcome of an effect that the target does not show: certainly absent, or possibly still in transit. */
  unseen(token: string, now: number): EffectOutcome {
    const since = this.at.get(token) ?? this.openedAt;
    if (now - since >= SETTLING_MILLISECONDS) return { kind: 'absent' };
    return { kind: 'unknown', detail: 'the target does not show the effect, but the request may still be on its way' };
  }
}

function remember<T>(map: Map<string, T>, token: string, value: T): void {
  map.set(token, value);
  const oldest = map.size > MOST_REMEMBERED ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}

/**
 * What became of an effect. An answer that came is remembered by this process. Otherwise it is told from the target
 * itself, read now, because no API here can be asked about a token: `scale`, `set-bounds` and `set-spot-ratio` change
 * the group's settings at once, `stop` and `start` change the instance's state at once, `resize` its type, `terminate`
 * and `replace` end in its absence. A target that shows the effect: taken. One that does not, a minute after sending:
 * absent, and it may be sent (each of these can be sent twice). Before that, or where its state says neither (an
 * instance that is stopping may be about to be released): unknown.
 * @throws Failure if the target cannot be read
 */
export async function outcomeOf(
  read: (target: string) => Promise<FleetTarget | null>,
  sent: Sent,
  effect: Effect,
  token: string,
  now: () => number,
): Promise<EffectOutcome> {
  const answered = sent.answered(token);
  if (answered !== undefined) return answered;
  const seen = await read(effect.target);
  const shown = holds(effect, seen);
  if (shown === true || isOnItsWay(effect, seen))
    return { kind: 'taken', reference: null, detail: 'the target shows the effect' };
  if (shown === null || ((effect.kind === 'terminate' || effect.kind === 'replace') && seen?.state === 'stopping')) {
    return { kind: 'unknown', detail: 'the target does not say whether the effect was taken' };
  }
  return sent.unseen(token, now());
}

function isOnItsWay(effect: Effect, seen: FleetTarget | null): boolean {
  return (
    (effect.kind === 'stop' && seen?.state === 'stopping') || (effect.kind === 'start' && seen?.state === 'starting')
  );
}

/** `instance/cn-beijing/i-bp1`, `asg/ap-guangzhou/asg-1`: a call goes to one region, so that it is part of the name. */
export interface RpcTarget {
  readonly kind: 'instance' | 'asg';
  readonly region: string;
  readonly id: string;
}

export const instanceTarget = (region: string, id: string): string => `instance/${region}/${id}`;
export const groupTarget = (region: string, id: string): string => `asg/${region}/${id}`;

const TARGET = /^(instance|asg)\/([a-z0-9-]+)\/([\w-]+)$/;

/** Null if the text names no instance or group of these clouds. */
export function parseTarget(target: string): RpcTarget | null {
  const [, kind, region = '', id = ''] = TARGET.exec(target) ?? [];
  return kind === 'instance' || kind === 'asg' ? { kind, region, id } : null;
}

export type Tell = (what: string) => void;

/** One part of a fleet: some kind of target in some region. */
export interface FleetPart {
  /** For messages: `cn-beijing: instances`. */
  readonly name: string;
  /**
   * @param lacks receives what of it could not be read, as a sentence: the rest stands
   * @param notRead receives what is not known of its targets, which are all there
   */
  read(lacks: Tell, notRead: Tell): Promise<readonly FleetTarget[]>;
}

/** @throws Failure if nothing at all could be read: that of the first part */
export async function readParts(parts: readonly FleetPart[], at: number): Promise<FleetReading> {
  const lacking: string[] = [];
  const notRead: string[] = [];
  const results = await Promise.all(
    parts.map(
      async (part): Promise<readonly FleetTarget[] | { readonly part: FleetPart; readonly failure: Failure }> => {
        try {
          return await part.read(
            (what) => void lacking.push(`${part.name}: ${what}`),
            (what) => void notRead.push(`${part.name}: ${what}`),
          );
        } catch (failure) {
          if (failure instanceof Failure) return { part, failure };
          throw failure;
        }
      },
    ),
  );
  const failed = results.flatMap((result) => ('failure' in result ? [result] : []));
  const [first] = failed;
  if (first !== undefined && failed.length === parts.length) throw first.failure;
  return {
    at,
    targets: results.flatMap((result) => ('failure' in result ? [] : result)),
    complete: failed.length === 0 && lacking.length === 0,
    problems: [...failed.map(({ part, failure }) => `${part.name}: ${failure.message}`), ...lacking, ...notRead],
  };
}

/** Groups of machines by the machines' ids; what is in none is not there. */
export type Membership = ReadonlyMap<string, string>;

/**
 * Says of machines which group each lies in, as a label (TARGET_TAG), so that their usage can be told to be the group's
 * and nothing is done to one that its group would undo.
 */
export class Members {
  /** By machine: what was told last, for a reading at which the service of groups does not answer. */
  private readonly last = new Map<string, string>();

  /** @param ask asks the cloud for the groups of machines of a region, by their ids */
  constructor(private readonly ask: (region: string, ids: readonly string[]) => Promise<Membership>) {}

  /** One machine, or none. @throws Failure if its group cannot be told now: then nothing is to be done to it */
  async named(machine: FleetTarget | null, region: string): Promise<FleetTarget | null> {
    if (machine === null || isMember(machine)) return machine;
    const id = idOf(machine);
    this.learn([id], await this.ask(region, [id]));
    return this.labelled(machine, region);
  }

  /**
   * All machines of a region. Where the cloud does not tell, each keeps the group that it was last told to lie in.
   * @param lacks is called if the groups could not be read; the machines are kept
   */
  async all(
    machines: readonly FleetTarget[],
    region: string,
    lacks: (what: string) => void,
  ): Promise<readonly FleetTarget[]> {
    const ids = machines.filter((one) => !isMember(one)).map(idOf);
    try {
      this.learn(ids, await this.ask(region, ids));
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      lacks(`the groups of the instances could not be read: ${failure.message}`);
    }
    return machines.map((one) => this.labelled(one, region));
  }

  private learn(ids: readonly string[], members: Membership): void {
    for (const id of ids) {
      const group = members.get(id);
      if (group === undefined) this.last.delete(id);
      else remember(this.last, id, group);
    }
  }

  private labelled(machine: FleetTarget, region: string): FleetTarget {
    const group = isMember(machine) ? undefined : this.last.get(idOf(machine));
    return group === undefined
      ? machine
      : { ...machine, labels: { ...machine.labels, [TARGET_TAG]: groupTarget(region, group) } };
  }
}

/** Its id at the cloud. */
export const idOf = ({ target }: FleetTarget): string => parseTarget(target)?.id ?? '';

type Given = Readonly<Record<string, string | undefined>>;

export const DEFAULT_TIMEOUT_SECONDS = 20;

/** Reads settings of one provider and collects what is wrong with them; shows no value. */
export class SettingsReader {
  readonly problems: Problem[] = [];

  /** @param prefix such as `BURSAR_ALIBABA_` */
  constructor(
    private readonly given: Given,
    private readonly prefix: string,
  ) {}

  text(name: string): string | null {
    const value = this.given[this.prefix + name]?.trim();
    return value === undefined || value === '' ? null : value;
  }

  wrong(name: string, message: string): void {
    this.problems.push({ path: this.prefix + name, message });
  }

  /** A list of words with commas between them. */
  list(name: string, form: RegExp, what: string): readonly string[] {
    const words = [
      ...new Set(
        (this.text(name) ?? '')
          .split(',')
          .map((word) => word.trim())
          .filter((word) => word !== ''),
      ),
    ];
    if (!words.every((word) => form.test(word))) this.wrong(name, `is not a list of ${what}`);
    return words;
  }

  /** An http or https address without credentials, without a slash at its end; `{region}` may stand in it. */
  address(name: string): string | null {
    const text = this.text(name);
    if (text !== null && !/^https?:\/\/[\w.{}-]+(?::\d+)?\/?$/.test(text))
      this.wrong(name, 'is not an http:// or https:// address of a host');
    return text?.replace(/\/$/, '') ?? null;
  }

  /** TIMEOUT_SECONDS: the longest wait for an answer. */
  timeoutSeconds(most: number): number {
    const seconds = Number(this.text('TIMEOUT_SECONDS') ?? DEFAULT_TIMEOUT_SECONDS);
    if (!(seconds >= 1 && seconds <= most)) this.wrong('TIMEOUT_SECONDS', `is not a number from 1 to ${most}`);
    return seconds;
  }

  /** Names every problem. */
  failure(cloud: string): Failure {
    const all = this.problems.map(({ path, message }) => `${path} ${message}`);
    return invalid(`the ${cloud} settings are wrong: ${all.join('; ')}`, this.problems);
  }

  /** Both halves of a credential, or null if neither is there. */
  keys(idName: string, secretName: string, required: boolean): KeyPair | null {
    const id = this.text(idName);
    const secret = this.text(secretName);
    if (id === null && (required || secret !== null)) this.wrong(idName, 'is missing');
    if (secret === null && (required || id !== null)) this.wrong(secretName, 'is missing');
    return id === null || secret === null ? null : { id, secret };
  }
}

/** The GPUs of one instance type. */
export interface TypeGpus {
  /** As modelOf names it; null: unknown. */
  readonly model: string | null;
  /** Zero: surely none; null: unknown, or a share of a card whose size nobody states. */
  readonly gpus: number | null;
}

/**
 * A number or text of a reply as an exact decimal; null for anything else. Numbers of JSON keep the shortest digits
 * that are equal.
 */
export function decimalOf(value: unknown): Decimal | null {
  return value === null || value === undefined ? null : parseDecimal(String(value));
}

/** A price of a whole instance for an hour, as a rate per GPU-second; null if it is no price above zero. */
export function instancePrice(
  facts: Omit<Price, 'rate' | 'upfront' | 'component' | 'effectiveTo' | 'incrementSeconds' | 'minimumSeconds'>,
  hourly: unknown,
  currency: string,
): Price | null {
  const price = decimalOf(hourly);
  if (price === null || price.unscaled <= 0n) return null;
  // Shares of a card are eighths, quarters and halves: they make whole seconds of an hour.
  const seconds = BigInt(Math.round(3600 * (facts.gpus ?? 1)));
  return {
    ...facts,
    upfront: 'none',
    component: 'gpu',
    rate: rateOf(price, currency, seconds, 'gpu-second'),
    effectiveTo: null,
    incrementSeconds: 1,
    minimumSeconds: 0,
  };
}

/**
 * Says from when on a price that is asked for again and again is known to hold: the same price is the same fact each
 * time.
 */
export class SeenPrices {
  private readonly seen = new Map<string, { readonly rate: string; readonly from: number }>();

  /** The price as it holds from the instant at which this process first saw it so. */
  dated(price: Price, now: number): Price {
    const slot = `${price.sku} ${price.region ?? ''} ${price.term}`;
    const rate = `${price.rate.nanos}/${price.rate.quantity} ${price.rate.currency}`;
    const before = this.seen.get(slot);
    const from = before?.rate === rate ? before.from : now;
    this.seen.set(slot, { rate, from });
    return { ...price, effectiveFrom: from };
  }
}

/**
 * The name of a region as both a bill and a list of regions have it: they differ in blanks and in the width of
 * brackets.
 */
export const plainName = (name: string): string => name.normalize('NFKC').replaceAll(' ', '').toLowerCase();

/** A text of a reply; null if there is none. */
export const orNull = (value: string | null | undefined): string | null =>
  value === undefined || value === null || value === '' ? null : value;

/**
 * What a cloud's answer to a question says of a permission: true if it was answered (or, of a rehearsal, would be
 * done), false if the cloud denied it, null if it says something else. What the answer means beside that is nobody's
 * matter here.
 * @param rehearsed the code of the error by which the cloud says that a rehearsal would go through; null: it was no
 * rehearsal
 * @param proves whether an answer shows that the permission is there: some calls answer with nothing if it is not
 */
export async function permitted(
  call: () => Promise<unknown>,
  {
    rehearsed = null,
    proves = () => true,
  }: { readonly rehearsed?: string | null; readonly proves?: (reply: unknown) => boolean } = {},
): Promise<boolean | null> {
  try {
    return proves(await call()) ? true : null;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { meaning } = error;
    if (meaning.kind === 'refused' && meaning.code === rehearsed) return true;
    return meaning.kind === 'denied' && !meaning.credentials ? false : null;
  }
}

/**
 * Reads and acts through the HTTP interface that a customer has written down (contract.ts).
 *
 * Never repeats a request, never follows a redirect, never shows a secret or an address. The invariant: an answer that
 * the document calls neither a success nor a refusal leaves an effect `unknown`; nothing is concluded from a status
 * alone, save that access was denied or that the other side was too busy to look.
 */
import type { Clock } from '../../core/time.js';
import { denied, invalid, unavailable, type Failure } from '../../core/errors.js';
import {
  holds,
  type BillingState,
  type Effect,
  type FleetReading,
  type FleetTarget,
  type Replicas,
  type RunState,
} from '../../core/fleet/fleet.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { EffectOutcome } from '../../core/ports.js';
import { exchange, retryAfterSeconds, type Exchanged } from '../webhook/exchange.js';
import {
  matches,
  valueAt,
  WRITTEN_KINDS,
  type Match,
  type Reading,
  type WrittenApi,
  type WrittenRequest,
} from './contract.js';
import { MATPOOL } from './tables.js';

const MOST_ANSWER_BYTES = 8 << 20;
const MOST_PAGES = 1000;

export interface ApiSettings {
  /** Null: none is needed for reading. */
  readonly readSecret: string | null;
  /** Null: read-only. */
  readonly actSecret: string | null;
  readonly account: string | null;
  readonly timeoutMilliseconds: number;
}

interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly retryAfter: string | null;
}

type Values = Readonly<Record<string, string | number>>;

export class MatpoolApi {
  constructor(
    private readonly api: WrittenApi,
    private readonly settings: ApiSettings,
    private readonly clock: Clock,
  ) {}

  get listsFleet(): boolean {
    return this.api.fleet !== undefined;
  }

  async target(target: string): Promise<FleetTarget | null> {
    const { request, success, missing, at } = this.api.target;
    const answer = await this.readAnswer('target', request, { target });
    if (missing !== undefined && matches(missing, answer.status, answer.json)) return null;
    this.expect('target', answer, success);
    const read = this.read(valueAt(answer.json, at));
    if (typeof read === 'string') throw invalid(`Matpool's answer to target is not as written down: ${read}`);
    if (read.target !== target)
      throw invalid("Matpool's answer to target is not as written down: it describes another target");
    return read;
  }

  async fleet(): Promise<FleetReading> {
    const at = this.clock.now();
    const targets = new Map<string, FleetTarget>();
    const problems: string[] = [];
    const written = this.api.fleet;
    if (written === undefined) return { at, targets: [], complete: false, problems: ['no list is written down'] };
    const paged = JSON.stringify(written.request).includes('{page}');
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const answer = await this.readAnswer('fleet', written.request, { page });
      this.expect('fleet', answer, written.success);
      const items = valueAt(answer.json, written.items);
      if (!Array.isArray(items))
        throw invalid(`Matpool's answer to fleet is not as written down: there is no list at ${written.items}`);
      const before = targets.size + problems.length;
      for (const [index, item] of items.entries()) {
        const read = this.read(item);
        if (typeof read === 'string') problems.push(`page ${page}, entry ${index + 1}: ${read}`);
        else targets.set(read.target, read);
      }
      // A page that brings nothing new is the last one: some lists repeat it for ever.
      if (!paged || items.length === 0 || targets.size + problems.length === before)
        return { at, targets: [...targets.values()], complete: problems.length === 0, problems };
    }
    return {
      at,
      targets: [...targets.values()],
      complete: false,
      problems: [...problems, `the list has more than ${MOST_PAGES} pages`],
    };
  }

  /** @throws Failure only if nothing was sent, or the answer says that nothing was done. */
  async apply(effect: Effect, token: string): Promise<EffectOutcome> {
    if (this.settings.actSecret === null)
      throw denied('the Matpool connection is read-only: BURSAR_MATPOOL_ACT_TOKEN is not set');
    const kind = WRITTEN_KINDS.find((each) => each === effect.kind);
    const written = kind === undefined ? undefined : this.api.effects[kind];
    if (written === undefined)
      return {
        kind: 'refused',
        code: 'unsupported-effect',
        detail: `${effect.kind} is not written down in BURSAR_MATPOOL_API`,
      };
    const sent = await this.send(written.request, valuesOf(effect, token), this.settings.actSecret);
    if (sent.kind === 'unsent') throw unavailable(`Matpool could not be reached: ${sent.detail}`);
    if (sent.kind !== 'answered') return { kind: 'unknown', detail: sent.detail };
    const answer = answerOf(sent);
    const barred = this.barred('apply', answer, written.refused);
    if (barred !== null) throw barred;
    if (matches(written.success, answer.status, answer.json))
      return { kind: 'taken', reference: this.textAt(answer.json, written.reference), detail: '' };
    if (written.refused !== undefined && matches(written.refused, answer.status, answer.json)) {
      const code = this.textAt(answer.json, written.refused.code) ?? `http-${answer.status}`;
      return { kind: 'refused', code, detail: this.textAt(answer.json, written.refused.detail) ?? '' };
    }
    return {
      kind: 'unknown',
      detail: `the answer ${answer.status} is written down neither as a success nor as a refusal`,
    };
  }

  /**
   * Where no way to ask for a token is written down, the target itself is read: effects are absolute, and one that
   * holds was taken.
   */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    const written = this.api.outcome;
    if (written === undefined) {
      const held = holds(effect, await this.target(effect.target));
      return held === true
        ? { kind: 'taken', reference: null, detail: 'the target is as it was to be' }
        : {
            kind: 'unknown',
            detail: 'the target is not, or not yet, as it was to be, and no way to ask for a token is written down',
          };
    }
    const answer = await this.readAnswer('outcome', written.request, { target: effect.target, token });
    this.expect('outcome', answer, written.success);
    const value = String(valueAt(answer.json, written.state.pointer));
    const state = Object.hasOwn(written.state.values, value) ? written.state.values[value] : undefined;
    switch (state) {
      case 'taken':
        return { kind: 'taken', reference: null, detail: '' };
      case 'refused':
        return { kind: 'refused', code: 'refused', detail: this.clean(value) };
      case 'absent':
        return { kind: 'absent' };
      default:
        return { kind: 'unknown', detail: 'the state of the token is not one that is written down' };
    }
  }

  private async readAnswer(what: string, request: WrittenRequest, values: Values): Promise<Answer> {
    const sent = await this.send(request, values, this.settings.readSecret);
    if (sent.kind === 'unsent' || sent.kind === 'lost')
      throw unavailable(`Matpool did not answer ${what}: ${sent.detail}`);
    if (sent.kind === 'unreadable') throw invalid(`Matpool's answer to ${what} cannot be read: ${sent.detail}`);
    return answerOf(sent);
  }

  /** @throws Failure if the answer is not the success that is written down. */
  private expect(what: string, answer: Answer, success: Match): void {
    const barred = this.barred(what, answer, undefined);
    if (barred !== null) throw barred;
    if (matches(success, answer.status, answer.json)) return;
    if (answer.status === 408 || answer.status >= 500)
      throw unavailable(`Matpool answered ${answer.status} to ${what}`);
    throw invalid(`Matpool answered ${answer.status} to ${what}, which is not the success that is written down`);
  }

  /** The failure that an answer is where nothing was looked at; null if it is none. */
  private barred(what: string, answer: Answer, refused: Match | undefined): Failure | null {
    const { status, json } = answer;
    const written = this.api.denied !== undefined && matches(this.api.denied, status, json);
    if (written || ((status === 401 || status === 403) && !(refused !== undefined && matches(refused, status, json)))) {
      return denied(
        `Matpool denied ${what} with ${status}: ${what === 'apply' ? 'BURSAR_MATPOOL_ACT_TOKEN' : 'BURSAR_MATPOOL_TOKEN'} must be allowed to`,
      );
    }
    if (status !== 429 && !(status === 503 && answer.retryAfter !== null)) return null;
    const seconds = retryAfterSeconds(answer.retryAfter, this.clock.now());
    return unavailable(`Matpool answered ${status} to ${what}${seconds === null ? '' : `; again in ${seconds} s`}`);
  }

  private async send(request: WrittenRequest, values: Values, secret: string | null): Promise<Exchanged> {
    // An address drops the segments . and .. even where they are escaped, and then is another one.
    if (Object.values(values).some((value) => value === '.' || value === '..'))
      throw invalid('a target or a token cannot be called . or ..');
    const path = filled(request.path, (name) => encodeURIComponent(values[name] ?? ''));
    const headers = Object.entries(request.headers).map(([name, value]) => [
      name.toLowerCase(),
      filled(value, (each) => (each === 'secret' ? (secret ?? '') : String(values[each] ?? ''))),
    ]);
    const body = request.body === undefined ? null : JSON.stringify(filledBody(request.body, values));
    return exchange({
      url: new URL(this.api.baseUrl.replace(/\/+$/, '') + path),
      method: request.method,
      body,
      timeoutMilliseconds: this.settings.timeoutMilliseconds,
      mostBytes: MOST_ANSWER_BYTES,
      headers: {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...Object.fromEntries(headers),
      },
    });
  }

  /** The target that an object describes, or what is wrong with it. */
  private read(json: unknown): FleetTarget | string {
    const { reading } = this.api;
    const target = this.textAt(json, reading.id);
    if (target === null) return `there is no id at ${reading.id}`;
    const model = this.textAt(json, reading.gpuModel);
    return {
      target,
      kind: reading.kind,
      name: this.textAt(json, reading.name) ?? target,
      provider: MATPOOL,
      account: this.settings.account,
      region: this.textAt(json, reading.region),
      sku: this.textAt(json, reading.sku),
      gpuModel: model === null ? null : (modelOf(model) ?? model),
      gpus: numberAt(json, reading.gpus),
      term: null,
      state: mapped<RunState>(json, reading.state),
      billing: mapped<BillingState>(json, reading.billing),
      replicas: replicasOf(json, reading),
      spotRatio: null,
      labels: {},
      launchedAt: instantAt(json, reading.launchedAt),
      revision: this.textAt(json, reading.revision),
      knownAs: [reading.hostName, reading.address].flatMap((at) => this.textAt(json, at) ?? []),
    };
  }

  /** A text or number where a pointer says, as text; null if there is none. */
  private textAt(json: unknown, at: string | undefined): string | null {
    const value = at === undefined ? undefined : valueAt(json, at);
    return (typeof value === 'string' && value !== '') || typeof value === 'number'
      ? this.clean(String(value)).slice(0, 500)
      : null;
  }

  /** Takes the secrets out of what the other side wrote: it knows them too, and may quote one. */
  private clean(text: string): string {
    return [this.settings.readSecret, this.settings.actSecret].reduce<string>(
      (left, secret) => (secret === null ? left : left.replaceAll(secret, '[secret]')),
      text,
    );
  }
}

function answerOf({ status, text, retryAfter }: Extract<Exchanged, { kind: 'answered' }>): Answer {
  try {
    return { status, json: JSON.parse(text) as unknown, retryAfter };
  } catch {
    return { status, json: undefined, retryAfter };
  }
}

/** The values that an effect's templates may name. */
function valuesOf(effect: Effect, token: string): Values {
  return {
    token,
    ...Object.fromEntries(
      Object.entries(effect).filter(
        (entry): entry is [string, string | number] => typeof entry[1] === 'string' || typeof entry[1] === 'number',
      ),
    ),
  };
}

const filled = (template: string, value: (name: string) => string): string =>
  template.replaceAll(/\{([A-Za-z]+)\}/g, (_, name: string) => value(name));

/** A body with its names filled in; a text that is nothing but a name becomes the value itself, a number a number. */
function filledBody(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    const whole = /^\{([A-Za-z]+)\}$/.exec(template)?.[1];
    return whole === undefined ? filled(template, (name) => String(values[name] ?? '')) : values[whole];
  }
  if (Array.isArray(template)) return template.map((each: unknown) => filledBody(each, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, each]) => [key, filledBody(each, values)]));
}

function mapped<State extends string>(
  json: unknown,
  written: { readonly pointer: string; readonly values: Readonly<Record<string, State>> } | undefined,
): State | 'unknown' {
  const value = written === undefined ? undefined : String(valueAt(json, written.pointer));
  return value !== undefined && written !== undefined && Object.hasOwn(written.values, value)
    ? (written.values[value] ?? 'unknown')
    : 'unknown';
}

/** A number, or a text that is one, not below zero; null for anything else. */
function numberAt(json: unknown, at: string | undefined): number | null {
  const value = at === undefined ? undefined : valueAt(json, at);
  const number =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^\d{1,9}(\.\d{1,3})?$/.test(value)
        ? Number(value)
        : Number.NaN;
  return number >= 0 && number <= 1_000_000 ? number : null;
}

/** An ISO 8601 time with a zone, or Unix seconds. */
function instantAt(json: unknown, at: string | undefined): number | null {
  const value = at === undefined ? undefined : valueAt(json, at);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && value > 0 && value < 4_102_444_800 ? value * 1000 : null;
  const instant =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? null : instant;
}

function replicasOf(json: unknown, reading: Reading): Replicas | null {
  const desired = numberAt(json, reading.desired);
  return desired === null
    ? null
    : {
        desired,
        ready: numberAt(json, reading.ready),
        min: numberAt(json, reading.min),
        max: numberAt(json, reading.max),
      };
}

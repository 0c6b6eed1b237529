/**
 * The provider `webhook`: a platform of your own (a scheduler, an in-house cloud) that implements fleet and actions
 * itself, behind a signed HTTP contract (docs/how-to/connect-your-own-cloud.md; contract.ts is its schema).
 *
 * Never follows a redirect, never repeats a request, never acts without the second secret. The invariant: an effect is
 * sent at most once under each call, and a lost answer is `unknown` until the receiver itself says what became of the
 * token.
 */
import type { Clock } from '../../core/time.js';
import type { CommitmentOffer } from '../../core/price/commitment-offer.js';
import type { ProviderSetting } from '../../core/setting.js';
import { z } from 'zod';
import { Failure, invalid, type Problem } from '../../core/errors.js';
import {
  EFFECT_KINDS,
  type Effect,
  type EffectKind,
  type FleetReading,
  type FleetTarget,
} from '../../core/fleet/fleet.js';
import type { EffectOutcome, Provider, ProviderAbilities, ProviderConnection } from '../../core/ports.js';
import type { PriceEvent } from '../../core/price/price.js';
import type { RecordBatch, Reject, UsageRecord } from '../../core/usage.js';
import {
  offersSchema,
  outcomeSchema,
  pageOf,
  priceSchema,
  recordSchema,
  targetAnswerSchema,
  targetSchema,
  type Operation,
} from './contract.js';
import { offerOf, outcomeOf, priceOf, recordOf, targetOf, wireEffect, wireTarget } from './convert.js';
import { addressProblem } from './exchange.js';
import { problemsOf, problemsText } from './problems.js';
import { Receiver } from './receiver.js';
import { readSecrets, share, type Secrets } from './signature.js';

/** Standard Webhooks recommends 15 to 30 seconds ("Request timeouts"). */
const DEFAULT_TIMEOUT_SECONDS = 30;
const MOST_TIMEOUT_SECONDS = 300;
/** A receiver that hands out cursors for ever is stopped. */
const MOST_PAGES = 10_000;
const MOST_RAW_CHARACTERS = 4000;

const SETTINGS: readonly ProviderSetting[] = [
  {
    name: 'BURSAR_WEBHOOK_URL',
    description: 'Base URL of the receiver (https, or http on this machine)',
    required: true,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_WEBHOOK_SECRET',
    description: 'Secret that signs readings: whsec_ and base64; two, divided by a blank, while one is replaced',
    required: true,
    secret: true,
    use: 'read',
  },
  {
    name: 'BURSAR_WEBHOOK_ACT_SECRET',
    description: 'Another secret, that signs actions; without it the connection is read-only',
    required: false,
    secret: true,
    use: 'act',
  },
  {
    name: 'BURSAR_WEBHOOK_ACCOUNT',
    description: 'Account under which usage and targets are filed that name none',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_WEBHOOK_TIMEOUT_SECONDS',
    description: `Longest wait for an answer (${DEFAULT_TIMEOUT_SECONDS})`,
    required: false,
    secret: false,
    use: 'read',
  },
];

const ABILITIES: ProviderAbilities = {
  prices: ['prices'],
  usage: ['usage'],
  bill: null,
  spotHistory: null,
  offers: ['offers'],
  fleet: ['fleet', 'target'],
  effects: Object.fromEntries(EFFECT_KINDS.map((kind) => [kind, [`apply ${kind}`, 'outcome']])),
};

export const provider: Provider = {
  name: 'webhook',
  providerName: null,
  description: 'A platform of your own behind a signed HTTP contract',
  abilities: ABILITIES,
  settings: SETTINGS,
  connect,
};

function connect(given: Readonly<Record<string, string | undefined>>, clock: Clock): ProviderConnection | null {
  const setting = (name: string): string => given[`BURSAR_WEBHOOK_${name}`]?.trim() ?? '';
  if (SETTINGS.every(({ name }) => (given[name]?.trim() ?? '') === '')) return null;
  const problems: Problem[] = [];
  const wrong = (name: string, message: string): null => {
    problems.push({ path: `BURSAR_WEBHOOK_${name}`, message });
    return null;
  };
  const secretsIn = (name: string): Secrets | null => {
    const secrets = readSecrets(setting(name));
    return typeof secrets === 'string' ? wrong(name, secrets) : secrets;
  };
  const url = setting('URL');
  const problem =
    url === '' ? 'is missing' : (addressProblem(url) ?? (new URL(url).search === '' ? null : 'holds a query'));
  if (problem !== null) wrong('URL', problem);
  const read = setting('SECRET') === '' ? wrong('SECRET', 'is missing') : secretsIn('SECRET');
  const act = setting('ACT_SECRET') === '' ? null : secretsIn('ACT_SECRET');
  if (read !== null && act !== null && share(read, act))
    wrong('ACT_SECRET', 'holds a secret of BURSAR_WEBHOOK_SECRET: actions need one of their own');
  const seconds = setting('TIMEOUT_SECONDS') === '' ? DEFAULT_TIMEOUT_SECONDS : Number(setting('TIMEOUT_SECONDS'));
  if (!(seconds >= 0.1 && seconds <= MOST_TIMEOUT_SECONDS))
    wrong('TIMEOUT_SECONDS', `is not a number of seconds from 0.1 to ${MOST_TIMEOUT_SECONDS}`);
  if (problems.length > 0 || read === null) {
    throw invalid(
      `the webhook provider's settings are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
      problems,
    );
  }
  const receiver = new Receiver(
    { base: url.replace(/\/+$/, ''), read, act, timeoutMilliseconds: Math.round(seconds * 1000) },
    clock,
  );
  return new WebhookConnection(receiver, clock, setting('ACCOUNT') === '' ? null : setting('ACCOUNT'), act !== null);
}

class WebhookConnection implements ProviderConnection {
  readonly name = 'webhook';

  constructor(
    private readonly receiver: Receiver,
    private readonly clock: Clock,
    readonly account: string | null,
    readonly canAct: boolean,
  ) {}

  /** A page with a price that cannot be read is refused whole: a price list is never half a list. */
  async *prices(since: number): AsyncGenerator<readonly PriceEvent[]> {
    const { name, abilities } = await this.receiver.description();
    if (!abilities.prices) return;
    const data = { since: iso(since) };
    for await (const page of this.pages('prices', 'prices', data, priceSchema)) {
      yield page
        .map((entry) => priceOf(entry, `webhook: ${name}`))
        .filter((event) => (event.kind === 'price' ? event.price.effectiveFrom : event.at) >= since);
    }
  }

  async *usage(from: number, to: number): AsyncGenerator<RecordBatch> {
    if (!(await this.receiver.description()).abilities.usage) return;
    let line = 0;
    for await (const page of this.pages('usage', 'records', { from: iso(from), to: iso(to) }, z.unknown())) {
      const records: UsageRecord[] = [];
      const rejects: Reject[] = [];
      for (const entry of page) {
        line += 1;
        const read = this.record(entry, from, to);
        if (Array.isArray(read))
          rejects.push({
            line,
            column: read[0]?.path ?? null,
            reason: problemsText(read),
            raw: this.receiver.clean(JSON.stringify(entry)).slice(0, MOST_RAW_CHARACTERS),
          });
        else records.push(read);
      }
      yield { records, rejects };
    }
  }

  /** A record, or what is wrong with it. */
  private record(entry: unknown, from: number, to: number): UsageRecord | Problem[] {
    const parsed = recordSchema.safeParse(entry);
    if (!parsed.success) return problemsOf(parsed.error);
    const record = recordOf(parsed.data, this.account);
    const problems: Problem[] = [];
    if (record.start < from || record.start >= to)
      problems.push({ path: 'start', message: 'is outside the interval that was asked for' });
    if (record.end > to) problems.push({ path: 'end', message: 'is after the interval that was asked for' });
    return problems.length === 0 ? record : problems;
  }

  async fleet(): Promise<FleetReading> {
    const at = this.clock.now();
    const targets = new Map<string, FleetTarget>();
    const problems: string[] = [];
    if (!(await this.receiver.description()).abilities.fleet)
      return { at, targets: [], complete: false, problems: ['the receiver does not offer its fleet'] };
    let pages = 0;
    try {
      for await (const page of this.pages('fleet', 'targets', {}, z.unknown())) {
        for (const [index, entry] of page.entries()) {
          const parsed = targetSchema.safeParse(entry);
          if (!parsed.success)
            problems.push(
              `page ${pages + 1} cannot be read: ${problemsText(problemsOf(parsed.error, ['targets', index]))}`,
            );
          else if (targets.has(parsed.data.target))
            problems.push(`page ${pages + 1}: targets/${index}/target: is listed twice`);
          else targets.set(parsed.data.target, targetOf(parsed.data, this.account));
        }
        pages += 1;
      }
    } catch (error) {
      // What came before the broken page is known all the same.
      if (pages === 0 || !(error instanceof Failure)) throw error;
      problems.push(`page ${pages + 1}: ${error.message}`);
    }
    return {
      at,
      targets: [...targets.values()],
      complete: problems.length === 0,
      problems: problems.map(this.receiver.clean),
    };
  }

  async offers(): Promise<readonly CommitmentOffer[]> {
    if (!(await this.receiver.description()).abilities.offers) return [];
    return (await this.receiver.ask('offers', {}, offersSchema)).offers.map(offerOf);
  }

  async target(target: string): Promise<FleetTarget | null> {
    const answer = (await this.receiver.ask('target', { target }, targetAnswerSchema)).target;
    if (answer === null) return null;
    if (answer.target !== target)
      throw invalid(
        "the receiver's answer to target is not of the contract: target/target: is another target than the one asked for",
      );
    return targetOf(answer, this.account);
  }

  async effects(): Promise<readonly EffectKind[]> {
    return (await this.receiver.description()).abilities.effects;
  }

  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    // Asked only of a connection that may act, so that a read-only one sends nothing at all.
    if (this.canAct && !(await this.receiver.description()).abilities.effects.includes(effect.kind)) {
      return { kind: 'refused', code: 'unsupported-effect', detail: `the receiver does not offer ${effect.kind}` };
    }
    return this.receiver.apply({
      token,
      effect: wireEffect(effect),
      before: before === null ? null : wireTarget(before),
    });
  }

  /** Signed with the read secret: what was sent can be asked for also after the right to act has been taken away. */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    return outcomeOf(
      await this.receiver.ask('outcome', { token, effect: wireEffect(effect) }, outcomeSchema),
      this.receiver.clean,
    );
  }

  /** The pages of a list until there is no cursor. @throws Failure invalid if a cursor comes again. */
  private async *pages<Name extends 'prices' | 'records' | 'targets', Entry extends z.ZodType>(
    operation: Exclude<Operation, 'apply'>,
    name: Name,
    data: object,
    entry: Entry,
  ): AsyncGenerator<z.infer<Entry>[]> {
    const seen = new Set<string>();
    let cursor: string | null = null;
    do {
      const page: { entries: z.infer<Entry>[]; cursor: string | null } = await this.receiver.ask(
        operation,
        { ...data, cursor },
        pageOf(entry, name),
      );
      yield page.entries;
      cursor = page.cursor;
      if (cursor !== null && (seen.has(cursor) || seen.size >= MOST_PAGES))
        throw invalid(
          `the receiver's answer to ${operation} is not of the contract: cursor: came before, or there are too many pages`,
        );
      if (cursor !== null) seen.add(cursor);
    } while (cursor !== null);
  }
}

const iso = (at: number): string => new Date(at).toISOString();

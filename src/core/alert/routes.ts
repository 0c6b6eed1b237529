/**
 * The destinations of alerts: routes by team, kind and severity, escalation without an answer, and mutes. Pure.
 *
 * The rules: only the first matching route applies to an alert; an alert without a matching route is sent to nobody;
 * without a document everything goes to every connected channel, and if there is none, to the log. If an alert that
 * needs an answer has none after a step's hours, it also goes to that step's targets, as long as it is open.
 */
import { ALERT_KINDS, SEVERITIES, type Alert, type AlertKind, type Severity } from './alert.js';
import { invalid, type Problem } from '../errors.js';
import { HOUR_MS, parseInstant } from '../time.js';

/** One place to tell: a channel, and who or where on it; null: where the channel's own settings say. */
export interface AlertTarget {
  readonly channel: string;
  readonly address: string | null;
}

export interface EscalationStep {
  /** Since the alert was made. */
  readonly afterHours: number;
  readonly to: readonly AlertTarget[];
}

export interface AlertRoute {
  /** These teams and those below them; null: all, and what concerns no single team. */
  readonly teams: readonly string[] | null;
  /** Null: all. */
  readonly kinds: readonly AlertKind[] | null;
  readonly leastSeverity: Severity;
  readonly to: readonly AlertTarget[];
  readonly escalation: readonly EscalationStep[];
}

/** As stored and sent. */
export interface AlertRoutes {
  readonly routes: readonly AlertRoute[];
}

/** The channel that is always there. */
const LOG_CHANNEL = 'log';

export const CHANNELS = ['slack', 'teams', 'feishu', 'dingtalk', 'wecom', 'webhook', 'email', LOG_CHANNEL] as const;

/** The name of one bot of several; sending/group-bot.ts reads it before `=`. */
const BOT = { form: /^[a-z0-9][a-z0-9-]{0,39}$/, what: 'the name of a bot as the settings give it, such as research' };

/**
 * The form of an address, by channel: Slack's ids of channels, groups, direct messages and users; an e-mail address; a
 * bot's name.
 */
const ADDRESSES: Readonly<Record<string, { readonly form: RegExp; readonly what: string }>> = {
  slack: {
    form: /^[CGDUW][A-Z0-9]{2,30}$/,
    what: 'the id of a Slack channel or user, such as C0123ABCD (with a name, the place of a message would be unknown)',
  },
  email: { form: /^[^\s@<>,;:"()[\]\\]{1,64}@[\w.-]{1,190}$/, what: 'an e-mail address' },
  teams: BOT,
  feishu: BOT,
  dingtalk: BOT,
  wecom: BOT,
};

const MOST_HOURS = 30 * 24;
const MOST_STEPS = 10;

/** @throws Failure invalid naming every problem. */
export function checkRoutes(document: AlertRoutes): AlertRoutes {
  const problems = document.routes.flatMap((route, index) => problemsOf(route, `routes/${index}`));
  if (problems.length > 0) throw invalid('the alert routes have problems', problems);
  return document;
}

function problemsOf({ kinds, leastSeverity, to, escalation }: AlertRoute, path: string): Problem[] {
  const problems: Problem[] = to.flatMap((target, index) => targetProblems(target, `${path}/to/${index}`));
  for (const kind of kinds ?? [])
    if (!ALERT_KINDS.includes(kind))
      problems.push({ path: `${path}/kinds`, message: `"${kind}" is none of ${ALERT_KINDS.join(', ')}` });
  if (!SEVERITIES.includes(leastSeverity))
    problems.push({ path: `${path}/leastSeverity`, message: `is none of ${SEVERITIES.join(', ')}` });
  if (escalation.length > MOST_STEPS)
    problems.push({ path: `${path}/escalation`, message: `has more than ${MOST_STEPS} steps` });
  escalation.forEach(({ afterHours, to: targets }, index) => {
    const here = `${path}/escalation/${index}`;
    if (!(afterHours > (escalation[index - 1]?.afterHours ?? 0) && afterHours <= MOST_HOURS))
      problems.push({
        path: `${here}/afterHours`,
        message: `is not above the step before it and at most ${MOST_HOURS}`,
      });
    if (targets.length === 0) problems.push({ path: `${here}/to`, message: 'tells nobody' });
    problems.push(...targets.flatMap((target, at) => targetProblems(target, `${here}/to/${at}`)));
    // Each place is notified once: a step with only places that were already notified would have no effect.
    const before = new Set([...to, ...escalation.slice(0, index).flatMap((step) => step.to)].map(placeOf));
    if (targets.length > 0 && targets.every((target) => before.has(placeOf(target))))
      problems.push({ path: `${here}/to`, message: 'names only addresses of earlier steps' });
  });
  return problems;
}

const placeOf = ({ channel, address }: AlertTarget): string => `${channel}/${address ?? ''}`;

function targetProblems({ channel, address }: AlertTarget, path: string): Problem[] {
  if (!(CHANNELS as readonly string[]).includes(channel))
    return [{ path: `${path}/channel`, message: `is none of ${CHANNELS.join(', ')}` }];
  const known = ADDRESSES[channel];
  if (address === null) return [];
  if (known === undefined) return [{ path: `${path}/address`, message: `${channel} has no addresses` }];
  return known.form.test(address) ? [] : [{ path: `${path}/address`, message: `is not ${known.what}` }];
}

/** The routes without a document. @param connected names of the channels that are connected */
export function defaultRoutes(connected: readonly string[]): AlertRoutes {
  const channels = connected.filter((name) => name !== LOG_CHANNEL);
  const to = (channels.length === 0 ? [LOG_CHANNEL] : channels).map(
    (channel): AlertTarget => ({ channel, address: null }),
  );
  return { routes: [{ teams: null, kinds: null, leastSeverity: 'info', to, escalation: [] }] };
}

export type Routed = Pick<Alert, 'kind' | 'severity' | 'team'>;

/**
 * The first matching route; null: none. @param lineage the alert's team and those above it; empty if it concerns no
 * single team
 */
export function routeFor(
  { routes }: AlertRoutes,
  { kind, severity }: Routed,
  lineage: readonly string[],
): AlertRoute | null {
  return (
    routes.find(
      (route) =>
        (route.teams === null || route.teams.some((team) => lineage.includes(team))) &&
        (route.kinds === null || route.kinds.includes(kind)) &&
        SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(route.leastSeverity),
    ) ?? null
  );
}

/** A team and those above it, nearest first. A team that is its own ancestor ends the walk. */
export function lineageOf(team: string | null, parents: ReadonlyMap<string, string | null>): string[] {
  const found = new Set<string>();
  for (let one = team; one !== null && !found.has(one); one = parents.get(one) ?? null) found.add(one);
  return [...found];
}

/**
 * When the next step of an alert's escalation is due, epoch milliseconds; null: no answer is awaited any more, or there
 * is no further step.
 */
export function escalationAt(
  { state, level, madeAt, news }: Pick<Alert, 'state' | 'level' | 'madeAt' | 'news'>,
  route: AlertRoute | null,
): number | null {
  const step = route?.escalation[level];
  if (state !== 'open' || step === undefined) return null;
  const at = (parseInstant(madeAt) ?? 0) + step.afterHours * HOUR_MS;
  // Nobody can approve what has expired.
  return news.kind === 'approval' && at >= (parseInstant(news.expiresAt) ?? Infinity) ? null : at;
}

/** Prevents alerts from being sent for a while. */
export interface Mute {
  readonly id: string;
  /** This team alone; null: all. */
  readonly team: string | null;
  readonly kind: AlertKind | null;
  /** This conversation alone, such as a budget's period; null: any. */
  readonly thread: string | null;
  /** Alerts of this severity and below; null: of any. */
  readonly upTo: Severity | null;
  /** ISO 8601. */
  readonly until: string;
  readonly reason: string;
  readonly by: string;
}

/** As long as the button mutes. */
export const MUTE_DAYS = 7;

/**
 * What the mute button covers: the conversation, if more messages may follow in it, otherwise this kind of alert of
 * this team; and nothing graver than the message with the button.
 */
export const muteOf = ({
  kind,
  team,
  thread,
  severity,
}: Pick<Alert, 'kind' | 'team' | 'thread' | 'severity'>): Pick<Mute, 'team' | 'kind' | 'thread' | 'upTo'> => ({
  team,
  kind,
  thread: kind === 'budget' || kind === 'variance' ? thread : null,
  upTo: severity,
});

/** Whether a mute covers an alert at `now`, epoch milliseconds. */
export function isMuted(
  mutes: readonly Mute[],
  { kind, team, thread, severity }: Pick<Alert, 'kind' | 'team' | 'thread' | 'severity'>,
  now: number,
): boolean {
  return mutes.some(
    (mute) =>
      (parseInstant(mute.until) ?? 0) > now &&
      (mute.team === null || mute.team === team) &&
      (mute.kind === null || mute.kind === kind) &&
      (mute.thread === null || mute.thread === thread) &&
      (mute.upTo === null || SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(mute.upTo)),
  );
}

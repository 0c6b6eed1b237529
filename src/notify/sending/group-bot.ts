/**
 * Code that the bots of group chats share: a separate address for each group, one POST per message, and an answer whose
 * body states the outcome.
 *
 * Such a bot cannot be queried: a message that may have arrived is not sent again (at most once), there are no threads,
 * and messages are not changed later. Its buttons are links: people sign in to Bursar to decide. It never reveals an
 * address or secret.
 */
import type {
  Channel,
  ChannelConnection,
  ChannelSetting,
  Notification,
  SendOutcome,
} from '../../core/alert/channel.js';
import type { Message } from '../../core/alert/message.js';
import { invalid, type Problem } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import { addressProblem, DEFAULT_REST_MS, post } from './post.js';

/** One bot: the address that a message is posted to, and the secret that signs it; null: it is not signed. */
export interface Bot {
  readonly url: string;
  readonly secret: string | null;
}

export interface GroupBotKind {
  readonly name: string;
  readonly description: string;
  /** An example of the address, for the reference of settings. */
  readonly example: string;
  /** `BURSAR_<prefix>_WEBHOOK_URL`, and `_SECRET` where the platform signs. */
  readonly prefix: string;
  readonly signs: boolean;
  readonly leastPauseMs: number;
  readonly pictures: 'none' | 'apart';
  /** The request; null: this cannot be sent (a picture that is too large). */
  request(notification: Notification, bot: Bot, now: number): { readonly url: string; readonly body: string } | null;
  /** The meaning of a status and a body, if the status is neither 429 nor 5xx. */
  outcome(status: number, answer: Readonly<Record<string, unknown>>): SendOutcome;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
/** The bot that gets what no route addresses. */
const DEFAULT = '';

export function groupBotChannel(kind: GroupBotKind): Channel {
  const urlName = `BURSAR_${kind.prefix}_WEBHOOK_URL`;
  const secretName = `BURSAR_${kind.prefix}_WEBHOOK_SECRET`;
  const several =
    'several as name=..., separated by blanks; the one without a name gets alerts that no route addresses';
  const settings: ChannelSetting[] = [
    { name: urlName, description: `The bot's address, ${kind.example}; ${several}`, required: true, secret: true },
  ];
  if (kind.signs)
    settings.push({
      name: secretName,
      description: "The secret that signs Bursar's messages; for several, name=... with the names of the addresses",
      required: false,
      secret: true,
    });
  return {
    name: kind.name,
    description: kind.description,
    settings,
    connect(values, clock) {
      const [urls, secrets] = [values[urlName] ?? '', kind.signs ? (values[secretName] ?? '') : ''];
      if (urls.trim() === '' && secrets.trim() === '') return null;
      const problems: Problem[] = [];
      const bots = botsOf({ path: urlName, text: urls }, { path: secretName, text: secrets }, problems);
      if (problems.length > 0)
        throw invalid(
          `the settings of ${kind.name} are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
          problems,
        );
      return new GroupBot(kind, bots, urlName, clock);
    },
  };
}

interface Setting {
  readonly path: string;
  readonly text: string;
}

/** The bots by name. Problems name a bot by its name or place, and quote nothing of an address. */
function botsOf(urls: Setting, secrets: Setting, problems: Problem[]): Map<string, Bot> {
  const bots = new Map<string, Bot>();
  const found = named(secrets, problems);
  for (const [name, url] of named(urls, problems)) {
    const wrong = addressProblem(url);
    if (wrong !== null) problems.push({ path: urls.path, message: `${name === DEFAULT ? '' : `(${name}) `}${wrong}` });
    bots.set(name, { url, secret: found.get(name) ?? null });
  }
  if (bots.size === 0) problems.push({ path: urls.path, message: 'is missing' });
  for (const name of found.keys())
    if (!bots.has(name))
      problems.push({
        path: secrets.path,
        message:
          name === DEFAULT
            ? 'is for an address without a name, but there is none'
            : `names ${name}, which ${urls.path} does not`,
      });
  return bots;
}

/** `name=value`, or a value alone; what stands before `=` is a name only where it looks like one. */
function named({ path, text }: Setting, problems: Problem[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const word of text.split(/\s+/).filter((one) => one !== '')) {
    const at = word.indexOf('=');
    const hasName = at > 0 && NAME.test(word.slice(0, at));
    const name = hasName ? word.slice(0, at) : DEFAULT;
    if (values.has(name))
      problems.push({ path, message: name === DEFAULT ? 'has two without a name' : `names ${name} twice` });
    values.set(name, hasName ? word.slice(at + 1) : word);
  }
  return values;
}

class GroupBot implements ChannelConnection {
  readonly name: string;
  readonly leastPauseMs: number;
  readonly whenUnknown = 'leave' as const;
  readonly threads = false;
  readonly pictures: 'none' | 'apart';

  constructor(
    private readonly kind: GroupBotKind,
    private readonly bots: ReadonlyMap<string, Bot>,
    private readonly urlName: string,
    private readonly clock: Clock,
  ) {
    this.name = kind.name;
    this.leastPauseMs = kind.leastPauseMs;
    this.pictures = kind.pictures;
  }

  async send(notification: Notification): Promise<SendOutcome> {
    const bot = this.bots.get(notification.address ?? DEFAULT);
    if (bot === undefined)
      return {
        kind: 'refused',
        code: 'no-such-bot',
        detail:
          notification.address === null
            ? `${this.urlName} has no address without a name`
            : `${this.urlName} names no ${notification.address}`,
      };
    const now = this.clock.now();
    const request = this.kind.request(notification, bot, now);
    if (request === null) return { kind: 'refused', code: 'not-sendable', detail: 'it is too large for this channel' };
    const posted = await post(request.url, { 'content-type': 'application/json' }, request.body, now);
    if (posted.kind !== 'answered') return posted;
    if (posted.status === 429) return { kind: 'busy', waitMs: posted.retryAfterMs ?? DEFAULT_REST_MS };
    if (posted.status >= 500) return { kind: 'unknown', detail: `status ${posted.status}` };
    return this.kind.outcome(posted.status, fieldsOf(posted.text));
  }
}

/** An answer's fields; none if it is no JSON object. */
function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}

/** Codes that a platform's reference names: what the caller does then, and what a person does. */
export interface Codes {
  /** It wants so many milliseconds of rest, and has not taken it. */
  readonly busy: Readonly<Record<number, number>>;
  /** It has not taken it, and says to try again. */
  readonly again: ReadonlySet<number>;
  readonly remedies: Readonly<Record<number, string>>;
}

/** For platforms that answer 200 with their own code: 0 is success; a missing code says nothing. */
export function outcomeByCode(status: number, code: unknown, { busy, again, remedies }: Codes): SendOutcome {
  if (typeof code !== 'number')
    return status >= 400
      ? { kind: 'refused', code: `status-${status}`, detail: 'the receiver did not accept it' }
      : { kind: 'unknown', detail: `status ${status}, and an answer without a code` };
  if (code === 0) return { kind: 'sent', reference: null };
  const waitMs = busy[code];
  if (waitMs !== undefined) return { kind: 'busy', waitMs };
  if (again.has(code)) return { kind: 'not-sent', detail: `the platform asks to retry (${code})` };
  return { kind: 'refused', code: `code-${code}`, detail: remedies[code] ?? 'the platform does not accept it' };
}

const MARKS: Readonly<Record<Message['severity'], string>> = {
  info: '\u{1F535}',
  warning: '\u{1F7E0}',
  critical: '\u{1F534}',
};

export const titleOf = ({ title, severity, kind }: Message): string => {
  const name = title.replaceAll(/\s+/g, ' ').trim() || '-';
  return kind === 'answer' ? name : `${MARKS[severity]} ${name}`;
};

const WIDE: Readonly<Record<string, string>> = {
  '[': '\uFF3B',
  ']': '\uFF3D',
  '<': '\uFF1C',
  '>': '\uFF1E',
  '*': '\uFF0A',
  '`': '\uFF40',
  '#': '\uFF03',
};

/**
 * A text whose characters mean nothing in markdown: their full-width twins. These platforms document no escape, and
 * nobody's tag may call a person (`<@id>`) or hide a link.
 */
export const inMarkdown = (text: string): string =>
  text.replaceAll(/[[\]<>*`#]/g, (character) => WIDE[character] ?? character).replaceAll(/\s*\n\s*/g, ' ');

/** The message as lines of simple markdown, without its title and link. */
export function markdownLines({ lines, facts, lists, note }: Message): string[] {
  return [
    ...lines.map(inMarkdown),
    ...facts.map(({ name, value }) => `**${inMarkdown(name)}**: ${inMarkdown(value === '' ? '-' : value)}`),
    ...lists.flatMap((list) => [`**${inMarkdown(list.title)}**`, ...list.items.map((item) => `- ${inMarkdown(item)}`)]),
    ...(note === null ? [] : [inMarkdown(note)]),
  ];
}

const CUT = '\u2026';

/** As many whole parts, from the first, as `fits` takes; where some are left out the last one says so. */
export function asManyAsFit<T>(parts: readonly T[], cut: T, fits: (parts: readonly T[]) => boolean): readonly T[] {
  if (fits(parts)) return parts;
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits([...parts.slice(0, middle), cut])) low = middle;
    else high = middle - 1;
  }
  return [...parts.slice(0, low), cut];
}

/** A text of at most so many characters, cut with a word that says so. */
export const short = (text: string, most: number): string =>
  text.length <= most
    ? text
    : Array.from(text)
        .slice(0, most - 1)
        .join('') + CUT;

export const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8');
export { CUT };

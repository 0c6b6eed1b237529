/**
 * What the process says about itself, on standard error: text for people, or one line of JSON per event.
 *
 * The one log of the process, behind Nest's Logger, which is how the rooms write to it. Never written to: standard
 * output, which belongs to a verb's answer. The invariant: no key, password or bearer token leaves through it, whoever
 * put it into a message. How often each level may appear is written in docs/decisions/0009-log-levels.md.
 */
import type { LoggerService } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { formatInstant, type Clock } from './core/time.js';

/** Loudest first. `log` is what others call info. */
export const LOG_LEVELS = ['error', 'warn', 'log', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = 'text' | 'json';

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
}

type Fields = Readonly<Record<string, unknown>>;

const MOST_CHARACTERS = 8000;

/** Nest's own words on how it starts, one for each route. */
const STARTING = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** API keys, bearer tokens, passwords of URLs. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b(bursar_[0-9a-f]{12})_[\w-]{16,}/g, '$1_***'],
  [/\b(bearer|basic) +[\w.~+/=-]{8,}/gi, '$1 ***'],
  [/(\w:\/\/[^\s/:@]*):[^\s@/]+@/g, '$1:***@'],
];

/** Without what must not be shown. */
export const masked = (text: string): string =>
  SECRETS.reduce((kept, [pattern, instead]) => kept.replace(pattern, instead), text);

export class ProcessLog implements LoggerService {
  private readonly most: number;

  constructor(
    private readonly settings: LogSettings,
    private readonly clock: Clock,
    private readonly write: (line: string) => void,
  ) {
    this.most = LOG_LEVELS.indexOf(settings.level);
  }

  /**
   * What the process tells whoever started it, whatever the level, unchanged: the first key of an installation is among
   * it.
   */
  say(text: string): void {
    if (this.settings.format === 'text') this.write(`${text}\n`);
    else if (text.trim() !== '')
      this.write(
        `${JSON.stringify({ time: formatInstant(this.clock.now()), level: 'info', name: 'bursar', message: text.trim() })}\n`,
      );
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.event('error', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.event('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.event('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.event('log', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.event('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.event('debug', message, rest);
  }

  /** As Nest's Logger calls it: the message, perhaps a stack, and last who says it. */
  private event(as: LogLevel, given: unknown, rest: readonly unknown[]): void {
    const name = rest.length > 0 && typeof rest.at(-1) === 'string' ? String(rest.at(-1)) : 'bursar';
    const level = as === 'log' && STARTING.has(name) ? 'debug' : as;
    if (LOG_LEVELS.indexOf(level) > this.most) return;
    const stack = rest.slice(0, -1).find((one): one is string => typeof one === 'string');
    const { message, ...fields } = this.read(given);
    const all: Fields = { ...fields, ...(stack === undefined ? {} : { stack }), ...spanOf() };
    this.write(
      this.settings.format === 'json' ? this.asJson(level, name, message, all) : asText(level, name, message, all),
    );
  }

  private read(given: unknown): { readonly message: string } & Fields {
    if (given instanceof Error)
      return { message: given.message, ...(given.stack === undefined ? {} : { stack: given.stack }) };
    if (typeof given !== 'object' || given === null) return { message: String(given) };
    const { message = '', ...fields } = given as { message?: unknown };
    return { ...fields, message: String(message) };
  }

  private asJson(level: LogLevel, name: string, message: string, fields: Fields): string {
    const clean = (_: string, value: unknown): unknown =>
      typeof value === 'string' ? short(masked(value)) : typeof value === 'bigint' ? String(value) : value;
    const head = { time: formatInstant(this.clock.now()), level: level === 'log' ? 'info' : level, name, message };
    return `${JSON.stringify({ ...head, ...fields, ...head }, clean)}\n`;
  }
}

const short = (text: string): string => (text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`);

/** `web: GET /v1/teams status=200`; the stack below it. Nothing that a terminal would obey. */
function asText(level: LogLevel, name: string, message: string, { stack, ...fields }: Fields): string {
  const line = [
    level === 'log' ? '' : `${level}: `,
    `${name}: `,
    message,
    ...Object.entries(fields).flatMap(([key, value]) =>
      value === null || value === undefined
        ? []
        : [` ${key}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`],
    ),
  ].join('');
  const plain = (text: string): string => short(masked(text)).replace(/[^\S\n]|(?!\n)\p{Cc}/gu, ' ');
  return `${plain(line).replaceAll('\n', ' ')}\n${typeof stack === 'string' ? `${plain(stack)}\n` : ''}`;
}

/** So that a line is found by its trace, and a trace by its lines. */
function spanOf(): Fields {
  const context = trace.getActiveSpan()?.spanContext();
  return context === undefined ? {} : { traceId: context.traceId, spanId: context.spanId };
}

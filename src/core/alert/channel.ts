/**
 * The shape of a channel, by which people are told: what it is sent, what it says became of it, and what else it
 * can do.
 *
 * As with the other parts (ports.ts), the line knows channels by these types alone. The invariant: a message that was
 * told is never told again, and one of which nobody knows is asked for or left, as the channel says of itself.
 */
import type { News } from './alert.js';
import type { Message } from './message.js';
import type { Clock } from '../time.js';
import type { ProviderSetting } from '../setting.js';

/** One setting of a channel, read as a provider's is. */
export type ChannelSetting = Omit<ProviderSetting, 'use'>;

/** A picture beside a message. */
export interface Picture {
  readonly png: Uint8Array;
  /** What it shows, for who cannot see it. */
  readonly text: string;
}

/** One message to one place, the same under its token however often it is tried. */
export interface Notification {
  /** Goes with the message where the channel has a place for it, so that it can be asked for. */
  readonly token: string;
  readonly message: Message;
  /** The facts behind it, for programs. */
  readonly news: News;
  /** Null: where the channel's settings say. */
  readonly address: string | null;
  /** Names the conversation that it belongs to. */
  readonly thread: string;
  /** What the channel calls the message that began the conversation; null: this one begins it. */
  readonly threadReference: string | null;
  readonly picture: Picture | null;
  /** Whom it concerns, by the channel's own ids: they are mentioned where the channel can. */
  readonly people: readonly string[];
  /** Of a channel whose pictures are `apart`: this sends the picture alone, into the conversation. */
  readonly part: 'message' | 'picture';
  /** When it was first tried, epoch milliseconds. */
  readonly since: number;
}

/** What became of a telling. */
export type SendOutcome =
  /** `reference` is what the channel calls the message, where it can be changed or replied to later. */
  | { readonly kind: 'sent'; readonly reference: string | null }
  /** The channel does not take it as things are (a setting, a right, the place): somebody has to change something. */
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string }
  /** It surely did not arrive. */
  | { readonly kind: 'not-sent'; readonly detail: string }
  /** It surely did not arrive: the channel wants so many milliseconds of rest. */
  | { readonly kind: 'busy'; readonly waitMs: number }
  /** Nobody can tell (a lost answer). */
  | { readonly kind: 'unknown'; readonly detail: string };

/** A way to tell people: one file of notify/, exported as `channel`. */
export interface Channel {
  readonly name: string;
  readonly description: string;
  readonly settings: readonly ChannelSetting[];
  /**
   * Nothing is called yet. Null where none of its settings is there. @throws Failure invalid that names every wrong
   * setting, never a value.
   */
  connect(settings: Readonly<Record<string, string | undefined>>, clock: Clock): ChannelConnection | null;
}

export interface ChannelConnection {
  readonly name: string;
  /** Between two messages to one address. */
  readonly leastPauseMs: number;
  /**
   * What to do when an answer was lost. `ask`: `outcome` tells; `send-again`: the receiver knows a message by its token
   * and takes it once (at least once, seen once); `leave`: it is not repeated (at most once).
   */
  readonly whenUnknown: 'ask' | 'send-again' | 'leave';
  /** A conversation is begun by one message, whose reference the others need. */
  readonly threads: boolean;
  /** `within` a message, or `apart`: messages of their own, sent after the one that they belong to. */
  readonly pictures: 'none' | 'within' | 'apart';
  /** Tells, once. Never throws for what the network or the other side does. */
  send(notification: Notification): Promise<SendOutcome>;
  /** What became of a telling whose answer was lost; `not-sent`: it is not there. */
  outcome?(notification: Notification): Promise<SendOutcome>;
  /** Replaces a message by another one; twice is as once. */
  update?(reference: string, message: Message): Promise<SendOutcome>;
  /**
   * Asks the other side whether it takes the settings, and tells nobody. @returns a sentence of what it said @throws
   * Failure
   */
  check?(): Promise<string>;
  /** Answers one person at the address that came with the question. */
  answer?(to: string, message: Message): Promise<SendOutcome>;
  close?(): Promise<void>;
}

/**
 * The interface of a channel that notifies people: its messages, the outcomes that it reports, and its further
 * abilities.
 *
 * As with the other parts (ports.ts), the line knows channels only by these types. The invariant: a message that was
 * sent is never sent again; after an unknown outcome the channel's own rule says whether the message is queried or left
 * alone.
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
  /** A description of the picture, for readers who cannot see it. */
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
  /** The channel's reference of the message that began the conversation; null: this one begins it. */
  readonly threadReference: string | null;
  readonly picture: Picture | null;
  /** Whom it concerns, by the channel's own ids: they are mentioned where the channel can. */
  readonly people: readonly string[];
  /** For a channel whose pictures are `apart`: `picture` sends only the picture, into the conversation. */
  readonly part: 'message' | 'picture';
  /** When it was first tried, epoch milliseconds. */
  readonly since: number;
}

/** What became of a telling. */
export type SendOutcome =
  /** `reference` is the channel's name of the message, if it can be changed or replied to later. */
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
   * Nothing is called yet. Null if none of its settings is there. @throws Failure invalid that names every wrong
   * setting, never a value.
   */
  connect(settings: Readonly<Record<string, string | undefined>>, clock: Clock): ChannelConnection | null;
}

export interface ChannelConnection {
  readonly name: string;
  /** Between two messages to one address. */
  readonly leastPauseMs: number;
  /**
   * What to do after a lost answer. `ask`: query `outcome`; `send-again`: the receiver recognises a message by its
   * token and accepts it once (at least once, seen once); `leave`: do not repeat it (at most once).
   */
  readonly whenUnknown: 'ask' | 'send-again' | 'leave';
  /** Whether one message begins a conversation, and the others need its reference. */
  readonly threads: boolean;
  /** `within` a message, or `apart`: as separate messages, sent after their message. */
  readonly pictures: 'none' | 'within' | 'apart';
  /** Tells, once. Never throws for what the network or the other side does. */
  send(notification: Notification): Promise<SendOutcome>;
  /** What became of a telling whose answer was lost; `not-sent`: it is not there. */
  outcome?(notification: Notification): Promise<SendOutcome>;
  /** Replaces a message by another one; twice is as once. */
  update?(reference: string, message: Message): Promise<SendOutcome>;
  /**
   * Checks the settings with the other side without sending a message to people. @returns a sentence with its answer
   * @throws Failure
   */
  check?(): Promise<string>;
  /** Answers one person at the address that came with the question. */
  answer?(to: string, message: Message): Promise<SendOutcome>;
  close?(): Promise<void>;
}

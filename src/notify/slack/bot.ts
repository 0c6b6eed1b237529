/**
 * Slack through its Web API, with a bot's token.
 *
 * Slack has no idempotency key for chat.postMessage: every message carries its token as metadata (docs.slack.dev,
 * "Message metadata"), and after a lost answer the conversation is searched for the message before anything is sent
 * again. One conversation is a thread. A picture is a file in it, named by its token. The client's own retries are off,
 * because repetition is decided elsewhere. It never logs, and never reveals the token.
 */
import type { ConversationsHistoryResponse, ConversationsRepliesResponse, WebClient } from '@slack/web-api';
import type { Message } from '../../core/alert/message.js';
import { denied, unavailable } from '../../core/errors.js';
import type { ChannelConnection, Notification, SendOutcome } from '../../core/alert/channel.js';
import type { Clock } from '../../core/time.js';
import { DEFAULT_REST_MS, post, TIMEOUT_MS } from '../sending/post.js';
import { slackMessage, type SlackMessage } from './blocks.js';
import { outcomeOfError, REST_OF_ANSWERS } from './failures.js';
import { ResponseAddress } from './response-address.js';

const EVENT_TYPE = 'bursar_alert';
/**
 * One message per second and channel (docs.slack.dev, "Rate limits": posting messages); a little more, since clocks
 * differ.
 */
const PAUSE_MS = 1100;
/** A clock may be so far behind Slack's. */
const CLOCKS_MS = 60_000;
const PAGE = 200;
const MOST_PAGES = 20;

type Found =
  | NonNullable<ConversationsHistoryResponse['messages']>[number]
  | NonNullable<ConversationsRepliesResponse['messages']>[number];

/** Slack's reference of a message: its channel and timestamp. */
const referenceOf = (channel: string, ts: string): string => `${channel}:${ts}`;

function placeOf(reference: string): { readonly channel: string; readonly ts: string } {
  const [channel = '', ts = ''] = reference.split(':');
  return { channel, ts };
}

export interface BotSettings {
  readonly token: string;
  /** Where alerts go that no route gives an address. */
  readonly channel: string;
  /** With a slash at its end. */
  readonly apiUrl: string;
}

export class SlackBot implements ChannelConnection {
  readonly name = 'slack';
  readonly leastPauseMs = PAUSE_MS;
  readonly whenUnknown = 'ask' as const;
  readonly threads = true;
  readonly pictures = 'apart';
  private opened: Promise<WebClient> | null = null;
  private readonly responses: ResponseAddress;

  constructor(
    private readonly settings: BotSettings,
    private readonly clock: Clock,
  ) {
    this.responses = new ResponseAddress(settings.apiUrl);
  }

  /** The package is read when it is first needed: most processes never tell anybody. */
  private client(): Promise<WebClient> {
    const { token, apiUrl } = this.settings;
    this.opened ??= import('@slack/web-api').then(
      (slack) =>
        new slack.WebClient(token, {
          slackApiUrl: apiUrl,
          retryConfig: { retries: 0 },
          rejectRateLimitedCalls: true,
          timeout: TIMEOUT_MS,
          allowAbsoluteUrls: false,
          logger: SILENT,
        }),
    );
    return this.opened;
  }

  async send(notification: Notification): Promise<SendOutcome> {
    return this.try(async (client) => {
      const channel = await this.channelOf(client, notification);
      if (notification.part === 'picture') return this.sendPicture(client, channel, notification);
      const thread =
        notification.threadReference === null
          ? {}
          : {
              thread_ts: placeOf(notification.threadReference).ts,
              reply_broadcast: notification.message.severity === 'critical',
            };
      const { postMessage: say } = client.chat;
      const sent = await say({
        channel,
        ...formOf(notification.message, notification.people),
        ...thread,
        metadata: { event_type: EVENT_TYPE, event_payload: { token: notification.token } },
        unfurl_links: false,
        unfurl_media: false,
      });
      return sent.ts === undefined
        ? { kind: 'unknown', detail: 'the answer has no message id' }
        : { kind: 'sent', reference: referenceOf(sent.channel ?? channel, sent.ts) };
    });
  }

  /** Three steps (docs.slack.dev, "Working with files: Uploading files"): only the last one shows it to anybody. */
  private async sendPicture(
    client: WebClient,
    channel: string,
    { token, picture, threadReference }: Notification,
  ): Promise<SendOutcome> {
    if (picture === null) return { kind: 'refused', code: 'no-picture', detail: 'the picture no longer exists' };
    const place = await client.files.getUploadURLExternal({
      filename: nameOf(token),
      length: picture.png.length,
      alt_text: picture.text,
    });
    if (place.upload_url === undefined || place.file_id === undefined)
      return { kind: 'not-sent', detail: 'Slack gives no upload address for the picture' };
    const uploaded = await post(
      place.upload_url,
      { 'content-type': 'image/png' },
      new Uint8Array(picture.png),
      this.clock.now(),
    );
    // Nobody sees a file that was not completed: it may be sent again.
    if (uploaded.kind !== 'answered') return { kind: 'not-sent', detail: uploaded.detail };
    if (uploaded.status === 429) return { kind: 'busy', waitMs: uploaded.retryAfterMs ?? DEFAULT_REST_MS };
    if (uploaded.status !== 200)
      return { kind: 'not-sent', detail: `the upload was answered with status ${uploaded.status}` };
    const file = { id: place.file_id, title: picture.text };
    await (threadReference === null
      ? client.files.completeUploadExternal({ files: [file], channel_id: channel })
      : client.files.completeUploadExternal({
          files: [file],
          channel_id: channel,
          thread_ts: placeOf(threadReference).ts,
        }));
    return { kind: 'sent', reference: null };
  }

  /** Looks for the message in its conversation. */
  async outcome(notification: Notification): Promise<SendOutcome> {
    return this.try(async (client) => {
      const channel = await this.channelOf(client, notification);
      const oldest = String((notification.since - CLOCKS_MS) / 1000);
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES; page++) {
        const options = {
          channel,
          oldest,
          limit: PAGE,
          include_all_metadata: true,
          ...(cursor === undefined ? {} : { cursor }),
        };
        const answer: ConversationsHistoryResponse | ConversationsRepliesResponse =
          notification.threadReference === null
            ? await client.conversations.history(options)
            : await client.conversations.replies({ ...options, ts: placeOf(notification.threadReference).ts });
        const messages: readonly Found[] = answer.messages ?? [];
        const found = messages.find((message) => isOf(message, notification));
        if (found?.ts !== undefined)
          return { kind: 'sent', reference: notification.part === 'picture' ? null : referenceOf(channel, found.ts) };
        cursor = answer.response_metadata?.next_cursor;
        if (cursor === undefined || cursor === '') return { kind: 'not-sent', detail: 'it is not in the conversation' };
      }
      return { kind: 'unknown', detail: 'too many messages have followed since' };
    });
  }

  async update(reference: string, message: Message): Promise<SendOutcome> {
    return this.try(async (client) => {
      const { channel, ts } = placeOf(reference);
      await client.chat.update({ channel, ts, ...formOf(message) });
      return { kind: 'sent', reference };
    });
  }

  /** The owner of the token (docs.slack.dev, auth.test). Its permissions show only when they are used. */
  async check(): Promise<string> {
    const outcome = await this.try(async (client) => {
      const { user, team } = await client.auth.test();
      return { kind: 'sent', reference: `signed in as ${user ?? 'somebody'} at ${team ?? 'a workspace'}` };
    });
    if (outcome.kind === 'sent') return outcome.reference ?? 'signed in';
    throw outcome.kind === 'refused'
      ? denied(`Slack does not accept the token: ${outcome.code}`)
      : unavailable('Slack cannot be reached now');
  }

  answer(to: string, message: Message): Promise<SendOutcome> {
    return this.responses.answer(to, message, this.clock.now());
  }

  /** A person is written to in the conversation with that person (docs.slack.dev, conversations.open). */
  private async channelOf(client: WebClient, { address }: Notification): Promise<string> {
    const wanted = address ?? this.settings.channel;
    if (!/^[UW]/.test(wanted)) return wanted;
    const { channel } = await client.conversations.open({ users: wanted });
    return channel?.id ?? wanted;
  }

  private async try(work: (client: WebClient) => Promise<SendOutcome>): Promise<SendOutcome> {
    const client = await this.client();
    try {
      return await work(client);
    } catch (error) {
      return outcomeOfError(error, REST_OF_ANSWERS);
    }
  }
}

const nameOf = (token: string): string => `${token}.png`;

function isOf(message: Found, { token, part }: Notification): boolean {
  if (part === 'picture') return message.files?.some(({ name }) => name === nameOf(token)) ?? false;
  const payload: unknown = message.metadata?.event_payload;
  return (
    message.metadata?.event_type === EVENT_TYPE &&
    typeof payload === 'object' &&
    payload !== null &&
    'token' in payload &&
    payload.token === token
  );
}

/** The package's types know more blocks than are made here; its arrays are its own to change. */
const formOf = (message: Message, people: readonly string[] = []): { text: string; blocks: SlackMessage['blocks'] } =>
  slackMessage(message, people);

const nothing = (): void => undefined;
/** Its log would hold what is sent. */
const SILENT = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
  getLevel: () => 'error' as never,
};

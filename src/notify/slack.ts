/**
 * Slack: with a bot's token all functions; with an incoming webhook only messages to one channel.
 *
 * Written rule. With the token nothing is lost and nothing repeated: a message whose answer was lost is searched first.
 * An incoming webhook gives no way to look: what may have arrived is not sent again (at most once), and the alert says
 * that nobody can tell. A webhook has neither threads nor buttons, and its messages are not changed later.
 */
import { invalid, type Problem } from '../core/errors.js';
import type { Message } from '../core/alert/message.js';
import type { Channel, ChannelConnection, Notification, SendOutcome } from '../core/alert/channel.js';
import type { Clock } from '../core/time.js';
import { addressProblem, DEFAULT_REST_MS, post } from './sending/post.js';
import { slackMessage } from './slack/blocks.js';
import { SlackBot } from './slack/bot.js';
import { ResponseAddress } from './slack/response-address.js';

const TOKEN = 'BURSAR_SLACK_BOT_TOKEN';
const CHANNEL = 'BURSAR_SLACK_CHANNEL';
const WEBHOOK = 'BURSAR_SLACK_WEBHOOK_URL';
const API = 'BURSAR_SLACK_API_URL';
const SIGNING_SECRET = 'BURSAR_SLACK_SIGNING_SECRET';

const SLACK_API = 'https://slack.com/api/';
const PAUSE_MS = 1100;

export const channel: Channel = {
  name: 'slack',
  description: 'Slack, by a bot (threads, buttons, pictures, commands) or by an incoming webhook (messages only).',
  settings: [
    {
      name: TOKEN,
      description:
        "The bot's token, xoxb-...; scopes chat:write, channels:history, groups:history, im:history, im:write, files:write, commands",
      required: false,
      secret: true,
    },
    {
      name: CHANNEL,
      description: 'Id of the channel for alerts that no route gives another one, such as C0123ABCD',
      required: false,
      secret: false,
    },
    {
      name: SIGNING_SECRET,
      description: 'Verifies that requests come from Slack; buttons and /bursar need it',
      required: false,
      secret: true,
    },
    { name: WEBHOOK, description: 'Instead of the token: an incoming webhook', required: false, secret: true },
    {
      name: API,
      description: 'Instead of https://slack.com/api/: GovSlack, or a test',
      required: false,
      secret: false,
    },
  ],
  connect(settings, clock) {
    const [token, place, webhook] = [settings[TOKEN] ?? '', settings[CHANNEL] ?? '', settings[WEBHOOK] ?? ''];
    if (token === '' && webhook === '') return null;
    const apiUrl = withSlash(settings[API] === undefined || settings[API] === '' ? SLACK_API : settings[API]);
    const problems: Problem[] = [];
    const check = (path: string, message: string | null): void => {
      if (message !== null) problems.push({ path, message });
    };
    check(API, addressProblem(apiUrl));
    if (token !== '') {
      check(TOKEN, /^xox[a-z]-[\w-]{10,}$/.test(token) ? null : 'is not a token of the form xoxb-...');
      check(
        CHANNEL,
        place === ''
          ? 'is missing'
          : /^[CGDUW][A-Z0-9]{2,30}$/.test(place)
            ? null
            : 'is not the id of a channel, such as C0123ABCD',
      );
      check(WEBHOOK, webhook === '' ? null : `cannot be combined with ${TOKEN}: set one of them`);
    } else check(WEBHOOK, addressProblem(webhook));
    if (problems.length > 0)
      throw invalid(
        `Slack's settings are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
        problems,
      );
    return token === ''
      ? new IncomingWebhook(webhook, apiUrl, clock)
      : new SlackBot({ token, channel: place, apiUrl }, clock);
  },
};

const withSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/** docs.slack.dev, "Sending messages using incoming webhooks". */
class IncomingWebhook implements ChannelConnection {
  readonly name = 'slack';
  readonly leastPauseMs = PAUSE_MS;
  readonly whenUnknown = 'leave' as const;
  readonly threads = false;
  readonly pictures = 'none';
  private readonly responses: ResponseAddress;

  constructor(
    private readonly url: string,
    apiUrl: string,
    private readonly clock: Clock,
  ) {
    this.responses = new ResponseAddress(apiUrl);
  }

  async send({ message, address }: Notification): Promise<SendOutcome> {
    if (address !== null)
      return {
        kind: 'refused',
        code: 'webhook-has-one-channel',
        detail: `an incoming webhook writes to its own channel: routes to others need ${TOKEN}`,
      };
    // A button of a message that cannot be changed would stay after it was pressed.
    const posted = await post(
      this.url,
      { 'content-type': 'application/json' },
      JSON.stringify(slackMessage({ ...message, buttons: [] })),
      this.clock.now(),
    );
    if (posted.kind !== 'answered') return posted;
    if (posted.status === 200) return { kind: 'sent', reference: null };
    if (posted.status === 429) return { kind: 'busy', waitMs: posted.retryAfterMs ?? DEFAULT_REST_MS };
    return posted.status >= 500
      ? { kind: 'unknown', detail: `status ${posted.status}` }
      : {
          kind: 'refused',
          code: /^[a-z_]{1,60}$/.test(posted.text) ? posted.text : `status-${posted.status}`,
          detail: 'Slack does not accept it',
        };
  }

  answer(to: string, message: Message): Promise<SendOutcome> {
    return this.responses.answer(to, message, this.clock.now());
  }
}

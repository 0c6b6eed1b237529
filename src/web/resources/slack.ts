/**
 * /slack/interactions and /slack/commands: what people in Slack press and ask. Paths outside /v1, since their form is
 * Slack's.
 *
 * Only requests that Slack has signed get in, within five minutes, and once. They are stored and acknowledged at once,
 * well within Slack's three seconds; the line executes and answers them, and checks the person's rights by their key.
 */
import { Body, Controller, Header, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ACTS } from '../../core/alert/message.js';
import { conflict, invalid, missing, unavailable } from '../../core/errors.js';
import type { SlackQuestion } from '../../store/alert/slack-desk.js';
import { Endpoint } from '../endpoint.js';
import { textProblems } from '../json.js';
import { InjectParts, type WebParts } from '../parts.js';
import { verifySlackRequest } from '../slack-signature.js';

/** Slack waits for three seconds (docs.slack.dev, "Handling user interaction: Acknowledgment response"). */
const WAIT_MS = 2500;
const id = z.string().regex(/^[A-Z0-9]{2,40}$/);
const address = z.url().max(2000);

/**
 * Parts of a block_actions payload (docs.slack.dev, "Interaction payloads: block_actions"); other payloads are
 * acknowledged, and nothing follows.
 */
const pressedSchema = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({ id, team_id: id.optional() }),
  team: z.looseObject({ id }).nullish(),
  response_url: address,
  actions: z.array(z.looseObject({ action_id: z.string().max(255), value: z.string().max(2000).optional() })).min(1),
});
/** docs.slack.dev, "Implementing slash commands: Understanding the interaction payload". */
const commandSchema = z.looseObject({
  team_id: id,
  user_id: id,
  text: z.string().max(1000).default(''),
  response_url: address,
});

const OPTIONS = {
  access: 'open',
  writes: true,
  takes: 'bytes',
  mostUnknownBytes: 256 << 10,
  answer: { media: 'text/plain', example: '' },
} as const;

@Controller()
export class SlackController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /slack/interactions', {
    summary: 'Receive a button that somebody pressed in Slack',
    description: "Called by Slack, signed with the app's signing secret; nothing follows from the same request again.",
    ...OPTIONS,
  })
  @Header('content-type', 'text/plain; charset=utf-8')
  async interactions(@Req() request: FastifyRequest, @Body() body?: Uint8Array): Promise<string> {
    return this.take(request, body, (form) => {
      const parsed = pressedSchema.safeParse(jsonOf(form.get('payload')));
      const [action] = parsed.success ? parsed.data.actions : [];
      const act = ACTS.find((one) => action?.action_id === `bursar.${one}`);
      if (!parsed.success || act === undefined || action?.value === undefined) return null;
      const { user, team, response_url: replyTo } = parsed.data;
      return {
        kind: 'press',
        workspace: user.team_id ?? team?.id ?? '',
        user: user.id,
        act,
        alert: action.value,
        replyTo,
      };
    });
  }

  @Endpoint('POST /slack/commands', {
    summary: 'Receive the slash command /bursar',
    description: "Called by Slack, signed with the app's signing secret; the same request again is refused.",
    ...OPTIONS,
  })
  @Header('content-type', 'text/plain; charset=utf-8')
  async commands(@Req() request: FastifyRequest, @Body() body?: Uint8Array): Promise<string> {
    return this.take(request, body, (form) => {
      // Slack checks now and then whether TLS works.
      if (form.get('ssl_check') === '1') return null;
      const parsed = commandSchema.safeParse(Object.fromEntries(form));
      if (!parsed.success)
        throw invalid(
          'the command has problems',
          parsed.error.issues.map(({ path, message }) => ({ path: path.join('/'), message })),
        );
      const { team_id: workspace, user_id: user, text, response_url: replyTo } = parsed.data;
      return { kind: 'command', workspace, user, text, replyTo };
    });
  }

  /** Stores a question for the line; an empty answer acknowledges it. */
  private async take(
    { headers }: FastifyRequest,
    body: Uint8Array | undefined,
    read: (form: URLSearchParams) => SlackQuestion | null,
  ): Promise<string> {
    const { stores, clock, slack } = this.parts;
    if (slack === undefined) throw missing('Slack is not connected here: BURSAR_SLACK_SIGNING_SECRET is not set');
    const bytes = body ?? new Uint8Array();
    const now = clock.now();
    const digest = verifySlackRequest(headers, bytes, slack.signingSecret, now);
    const question = read(new URLSearchParams(Buffer.from(bytes).toString('utf8')));
    if (question === null) return '';
    const problems = textProblems(question);
    if (problems.length > 0) throw invalid('the request cannot be stored', problems);
    const timer = new AbortController();
    const late = sleep(WAIT_MS, null, { signal: timer.signal });
    const taken = stores.db.transaction((tx) => stores.slackDesk.take(tx, slack.organisation, digest, question, now));
    try {
      const isNew = await Promise.race([taken, late]);
      if (isNew === null) throw unavailable('the database did not answer in time');
      // The same press again within a second: the first one is answered, and Slack shows no error.
      if (!isNew && question.kind !== 'press') throw conflict('this request was received before');
      return '';
    } finally {
      timer.abort();
      // The loser of the race may still fail: nobody waits for it.
      late.catch(() => undefined);
      taken.catch(() => undefined);
    }
  }
}

function jsonOf(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '') as unknown;
  } catch {
    throw invalid('the payload is not JSON');
  }
}

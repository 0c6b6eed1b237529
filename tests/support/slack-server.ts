/**
 * Slack on this machine, as far as Bursar uses it: posts, changes and finds messages, takes files, and refuses what
 * breaks a limit of the Block Kit reference. It keeps what arrived, so that a test can tell a message that was posted
 * twice, and fails as it is told to.
 *
 * The limits are written here a second time, from Slack's reference (docs.slack.dev, Block Kit: "Blocks", "Block
 * elements", "Composition objects"), so that code and test do not share a slip.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/**
 * What happens to the next call: it is answered 503, the connection breaks before or after it was done, Slack wants a
 * pause of so many seconds, or Slack names an error.
 */
export type SlackFault = 'away' | 'cut' | 'lost' | { readonly pause: number } | { readonly error: string };

export interface SlackText {
  readonly type: string;
  readonly text: string;
}
export interface SlackElement {
  readonly type: string;
  readonly text: SlackText;
  readonly action_id: string;
  readonly value: string;
  readonly url?: string;
  readonly confirm?: {
    readonly title: SlackText;
    readonly text: SlackText;
    readonly confirm: SlackText;
    readonly deny: SlackText;
  };
}
export interface SlackBlock {
  readonly type: string;
  readonly text?: SlackText;
  readonly fields?: readonly SlackText[];
  readonly elements?: readonly (SlackElement & SlackText)[];
}
export interface SlackPost {
  readonly channel: string;
  readonly ts: string;
  readonly thread: string | null;
  text: string;
  blocks: readonly SlackBlock[];
  readonly metadata: { readonly event_type: string; readonly event_payload: { readonly token?: string } } | null;
  readonly files: readonly { readonly id: string; readonly name: string }[];
}

/** Every limit that blocks break, as sentences. */
export function blockProblems(blocks: readonly SlackBlock[]): string[] {
  const problems: string[] = [];
  const text = (value: SlackText | undefined, type: string, most: number, where: string): void => {
    if (value === undefined) problems.push(`${where} is missing`);
    else if (value.type !== type) problems.push(`${where} is ${value.type}, not ${type}`);
    else if (value.text.length < 1 || value.text.length > most)
      problems.push(`${where} has ${value.text.length} characters: 1 to ${most}`);
  };
  if (blocks.length > 50) problems.push(`${blocks.length} blocks: at most 50`);
  blocks.forEach(({ type, text: own, fields, elements }, at) => {
    const here = `blocks/${at}`;
    if (type === 'header') text(own, 'plain_text', 150, here);
    else if (type === 'section') {
      if (own !== undefined || fields === undefined) text(own, 'mrkdwn', 3000, here);
      if (fields !== undefined && (fields.length < 1 || fields.length > 10))
        problems.push(`${here} has ${fields.length} fields: 1 to 10`);
      fields?.forEach((field, n) => text(field, 'mrkdwn', 2000, `${here}/fields/${n}`));
    } else if (type === 'context') {
      if (elements === undefined || elements.length < 1 || elements.length > 10)
        problems.push(`${here} has ${elements?.length ?? 0} elements: 1 to 10`);
      elements?.forEach(
        (element) =>
          (element.text.length < 1 || element.text.length > 3000) &&
          problems.push(`${here} has a text of ${element.text.length} characters`),
      );
    } else if (type === 'actions') {
      if (elements === undefined || elements.length < 1 || elements.length > 25)
        problems.push(`${here} has ${elements?.length ?? 0} elements: 1 to 25`);
      if (new Set(elements?.map(({ action_id: id }) => id)).size !== elements?.length)
        problems.push(`${here} has an action_id twice`);
      elements?.forEach((element, n) => {
        const one = `${here}/elements/${n}`;
        text(element.text as unknown as SlackText, 'plain_text', 75, `${one}/text`);
        if (element.action_id.length > 255) problems.push(`${one}/action_id has more than 255 characters`);
        if ((element.value ?? '').length > 2000) problems.push(`${one}/value has more than 2000 characters`);
        if ((element.url ?? '').length > 3000) problems.push(`${one}/url has more than 3000 characters`);
        if (element.confirm === undefined) return;
        text(element.confirm.title, 'plain_text', 100, `${one}/confirm/title`);
        text(element.confirm.text, 'plain_text', 300, `${one}/confirm/text`);
        text(element.confirm.confirm, 'plain_text', 30, `${one}/confirm/confirm`);
        text(element.confirm.deny, 'plain_text', 30, `${one}/confirm/deny`);
      });
    } else problems.push(`${here} is a ${type}`);
  });
  return problems;
}

type Fields = Readonly<Record<string, string>>;
type Answer = { readonly ok: boolean } & Readonly<Record<string, unknown>>;
const refuse = (error: string, more: Readonly<Record<string, unknown>> = {}): Answer => ({ ok: false, error, ...more });

const TOKEN = 'xoxb-1234567890-test';
/** Fewer than any conversation of a test holds, so that pages are turned. */
const PAGE = 2;

export class SlackServer {
  readonly token = TOKEN;
  readonly posts: SlackPost[] = [];
  /** Names of the methods that were called, in order. */
  readonly calls: string[] = [];
  /** What came to response_urls and to the incoming webhook. */
  readonly replies: {
    readonly path: string;
    readonly body: { readonly text: string; readonly blocks: readonly SlackBlock[]; readonly response_type?: string };
  }[] = [];
  /** For the next calls, by method; `*`: whatever comes. */
  readonly faults: { readonly method: string; readonly fault: SlackFault }[] = [];
  /** As long as it is set every call meets it. */
  always: SlackFault | null = null;
  readonly uploads = new Map<string, { readonly name: string; bytes: Buffer | null }>();
  url = '';
  private seq = 0;
  private readonly server = createServer((request, response) => void this.serve(request, response));

  constructor(private readonly clock: { now(): number }) {}

  get apiUrl(): string {
    return `${this.url}/api/`;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The settings of a channel that talks to it. */
  settings(channel = 'C0GENERAL'): Record<string, string> {
    return { BURSAR_SLACK_BOT_TOKEN: TOKEN, BURSAR_SLACK_CHANNEL: channel, BURSAR_SLACK_API_URL: this.apiUrl };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const path = request.url ?? '/';
    const method = path.startsWith('/api/') ? path.slice('/api/'.length) : (path.split('/')[1] ?? '');
    this.calls.push(method);
    const fault = this.always ?? this.faultOf(method);
    if (fault === 'cut') return void request.socket.destroy();
    if (fault === 'away') return void response.writeHead(503).end('away');
    if (typeof fault === 'object' && fault !== null && 'pause' in fault)
      return void response
        .writeHead(429, { 'retry-after': String(fault.pause), 'content-type': 'application/json' })
        .end('{"ok":false,"error":"ratelimited"}');
    const answer =
      typeof fault === 'object' && fault !== null ? refuse(fault.error) : this.answer(path, method, request, bytes);
    if (fault === 'lost') return void request.socket.destroy();
    if (typeof answer === 'number')
      return void response.writeHead(answer).end(answer === 200 ? 'ok' : 'invalid_payload');
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  private faultOf(method: string): SlackFault | null {
    const at = this.faults.findIndex((one) => one.method === method || one.method === '*');
    return at < 0 ? null : (this.faults.splice(at, 1)[0]?.fault ?? null);
  }

  private answer(path: string, method: string, request: IncomingMessage, bytes: Buffer): Answer | number {
    if (method === 'upload') return this.upload(path, bytes);
    if (!path.startsWith('/api/')) {
      const body = JSON.parse(bytes.toString('utf8')) as SlackServer['replies'][number]['body'];
      this.replies.push({ path, body });
      return blockProblems(body.blocks).length === 0 ? 200 : 400;
    }
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return refuse('invalid_auth');
    const fields = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    switch (method) {
      case 'chat.postMessage':
        return this.post(fields);
      case 'chat.update':
        return this.update(fields);
      case 'conversations.history':
        return this.found(
          fields,
          this.posts.filter(({ channel, thread }) => channel === fields['channel'] && thread === null),
        );
      case 'conversations.replies':
        return this.found(
          fields,
          this.posts.filter(
            ({ channel, thread, ts }) =>
              channel === fields['channel'] && (thread === fields['ts'] || ts === fields['ts']),
          ),
        );
      case 'conversations.open':
        return { ok: true, channel: { id: `D${fields['users'] ?? ''}` } };
      case 'files.getUploadURLExternal':
        return this.place(fields);
      case 'files.completeUploadExternal':
        return this.complete(fields);
      default:
        return refuse('unknown_method');
    }
  }

  private stamp(): string {
    return `${Math.floor(this.clock.now() / 1000)}.${String(++this.seq).padStart(6, '0')}`;
  }

  private post(fields: Fields): Answer {
    const blocks = JSON.parse(fields['blocks'] ?? '[]') as SlackBlock[];
    const problems = blockProblems(blocks);
    if (problems.length > 0) return refuse('invalid_blocks', { errors: problems });
    if ((fields['text'] ?? '').length > 4000) return refuse('msg_too_long');
    const thread = fields['thread_ts'] ?? null;
    if (thread !== null && !this.posts.some(({ ts, channel }) => ts === thread && channel === fields['channel']))
      return refuse('thread_not_found');
    const post: SlackPost = {
      channel: fields['channel'] ?? '',
      ts: this.stamp(),
      thread,
      text: fields['text'] ?? '',
      blocks,
      metadata:
        fields['metadata'] === undefined
          ? null
          : (JSON.parse(fields['metadata']) as NonNullable<SlackPost['metadata']>),
      files: [],
    };
    this.posts.push(post);
    return { ok: true, channel: post.channel, ts: post.ts };
  }

  private update(fields: Fields): Answer {
    const post = this.posts.find(({ ts, channel }) => ts === fields['ts'] && channel === fields['channel']);
    if (post === undefined) return refuse('message_not_found');
    const blocks = JSON.parse(fields['blocks'] ?? '[]') as SlackBlock[];
    if (blockProblems(blocks).length > 0) return refuse('invalid_blocks');
    Object.assign(post, { blocks, text: fields['text'] ?? '' });
    return { ok: true, channel: post.channel, ts: post.ts };
  }

  /** Newest first, as Slack lists a conversation; metadata only where it is asked for. */
  private found(fields: Fields, posts: readonly SlackPost[]): Answer {
    const all = posts.filter(({ ts }) => Number(ts) > Number(fields['oldest'] ?? 0)).reverse();
    const from = Number(fields['cursor'] ?? 0);
    const messages = all
      .slice(from, from + PAGE)
      .map(({ ts, text, metadata, files }) => ({
        ts,
        text,
        files,
        ...(fields['include_all_metadata'] === 'true' && metadata !== null ? { metadata } : {}),
      }));
    return {
      ok: true,
      messages,
      response_metadata: { next_cursor: from + PAGE < all.length ? String(from + PAGE) : '' },
    };
  }

  private place(fields: Fields): Answer {
    const id = `F${String(this.uploads.size + 1).padStart(8, '0')}`;
    this.uploads.set(id, { name: fields['filename'] ?? '', bytes: null });
    return { ok: true, upload_url: `${this.url}/upload/${id}`, file_id: id };
  }

  private upload(path: string, bytes: Buffer): number {
    const file = this.uploads.get(path.split('/')[2] ?? '');
    if (file === undefined) return 404;
    file.bytes = bytes;
    return 200;
  }

  private complete(fields: Fields): Answer {
    const files = (JSON.parse(fields['files'] ?? '[]') as { id: string }[]).map(({ id }) => ({
      id,
      name: this.uploads.get(id)?.name ?? '',
    }));
    if (files.some(({ id }) => (this.uploads.get(id)?.bytes ?? null) === null)) return refuse('file_not_found');
    this.posts.push({
      channel: fields['channel_id'] ?? '',
      ts: this.stamp(),
      thread: fields['thread_ts'] ?? null,
      text: '',
      blocks: [],
      metadata: null,
      files,
    });
    return { ok: true, files };
  }
}

/** Started here, stopped after the file or block. */
export async function slackServer(clock: { now(): number }): Promise<SlackServer> {
  const server = await new SlackServer(clock).listen();
  afterAll(() => server.close());
  return server;
}

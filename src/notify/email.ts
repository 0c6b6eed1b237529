/**
 * E-mail by SMTP: plain text and HTML of the same message, with a picture inside it.
 *
 * At least once: a message keeps its Message-ID however often it is sent, and mail systems that know the id drop the
 * second copy. Related messages refer to one id (RFC 5322, section 3.6.4). All names from people are escaped; nothing
 * is loaded from outside. TLS is required, except on this machine. It never reveals the server's address, user or
 * password.
 */
import { createHash } from 'node:crypto';
import type { Transporter } from 'nodemailer';
import { plainText, type Message } from '../core/alert/message.js';
import { denied, invalid, unavailable, type Problem } from '../core/errors.js';
import type { Channel, ChannelConnection, Notification, SendOutcome } from '../core/alert/channel.js';
import { isLoopback, TIMEOUT_MS } from './sending/post.js';

const URL_NAME = 'BURSAR_SMTP_URL';
const FROM = 'BURSAR_SMTP_FROM';
const TO = 'BURSAR_SMTP_TO';
const ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[\w.-]{1,190}$/;

export const channel: Channel = {
  name: 'email',
  description: 'E-mail by SMTP.',
  settings: [
    {
      name: URL_NAME,
      description: 'smtps://user:password@host:465, or smtp://...:587 with STARTTLS',
      required: true,
      secret: true,
    },
    { name: FROM, description: 'The sender, an e-mail address', required: true, secret: false },
    {
      name: TO,
      description: 'Recipients of alerts that no route addresses: e-mail addresses, separated by commas',
      required: true,
      secret: false,
    },
  ],
  connect(settings) {
    const [url, from, to] = [settings[URL_NAME] ?? '', settings[FROM] ?? '', settings[TO] ?? ''];
    if (url === '' && from === '' && to === '') return null;
    const recipients = to
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
    const problems: Problem[] = [
      ...(isSmtp(url)
        ? []
        : [{ path: URL_NAME, message: url === '' ? 'is missing' : 'is not an smtp:// or smtps:// URL' }]),
      ...(ADDRESS.test(from) ? [] : [{ path: FROM, message: from === '' ? 'is missing' : 'is not an e-mail address' }]),
      ...(recipients.length > 0 && recipients.every((one) => ADDRESS.test(one))
        ? []
        : [{ path: TO, message: to === '' ? 'is missing' : 'is not a list of e-mail addresses' }]),
    ];
    if (problems.length > 0)
      throw invalid(
        `the settings of e-mail are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
        problems,
      );
    return new Mail(url, from, recipients);
  },
};

const isSmtp = (url: string): boolean =>
  URL.canParse(url) && /^smtps?:$/.test(new URL(url).protocol) && new URL(url).hostname !== '';

class Mail implements ChannelConnection {
  readonly name = 'email';
  readonly leastPauseMs = 0;
  readonly whenUnknown = 'send-again' as const;
  readonly threads = false;
  readonly pictures = 'within';
  private opened: Promise<Transporter> | null = null;

  constructor(
    private readonly url: string,
    private readonly from: string,
    private readonly to: readonly string[],
  ) {}

  private transport(): Promise<Transporter> {
    const { protocol, hostname, port, username, password } = new URL(this.url);
    const secure = protocol === 'smtps:';
    this.opened ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({
        host: hostname.replace(/^\[|\]$/g, ''),
        port: port === '' ? (secure ? 465 : 587) : Number(port),
        secure,
        requireTLS: !secure && !isLoopback(hostname),
        ...(username === ''
          ? {}
          : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
        connectionTimeout: TIMEOUT_MS,
        greetingTimeout: TIMEOUT_MS,
        socketTimeout: TIMEOUT_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      }),
    );
    return this.opened;
  }

  async send(notification: Notification): Promise<SendOutcome> {
    const { token, message, address, thread, picture } = notification;
    const domain = this.from.slice(this.from.indexOf('@') + 1);
    const root = `<${createHash('sha256').update(thread).digest('hex').slice(0, 32)}@${domain}>`;
    try {
      const transport = await this.transport();
      await transport.sendMail({
        from: this.from,
        to: address === null ? [...this.to] : [address],
        subject: message.title.replaceAll(/\s+/g, ' ').slice(0, 200),
        text: plainText(message),
        html: htmlOf(message, picture === null ? null : picture.text),
        messageId: `<${token}@${domain}>`,
        inReplyTo: root,
        references: [root],
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        attachments:
          picture === null
            ? []
            : [{ filename: 'chart.png', content: Buffer.from(picture.png), contentType: 'image/png', cid: 'chart' }],
      });
      return { kind: 'sent', reference: null };
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Connects, and signs in where there is a user; nothing is sent. */
  async check(): Promise<string> {
    try {
      await (await this.transport()).verify();
      return 'the mail server accepts the sign-in';
    } catch (error) {
      const outcome = failureOf(error);
      const why = 'detail' in outcome ? outcome.detail : 'no reason given';
      throw outcome.kind === 'refused' ? denied(why) : unavailable(why);
    }
  }

  async close(): Promise<void> {
    (await this.opened)?.close();
  }
}

/**
 * By the server's reply (RFC 5321, section 4.2.1): 4yz may be tried again, 5yz not as it is. Without one it is not
 * known how far it came.
 */
function failureOf(error: unknown): SendOutcome {
  const { responseCode, code, command } = (typeof error === 'object' && error !== null ? error : {}) as {
    responseCode?: unknown;
    code?: unknown;
    command?: unknown;
  };
  const step = typeof command === 'string' && /^[A-Z ]{1,20}$/.test(command) ? command : 'unknown step';
  if (typeof responseCode === 'number' && responseCode >= 500)
    return { kind: 'refused', code: `smtp-${responseCode}`, detail: `the mail server refused at ${step}` };
  if (typeof responseCode === 'number' && responseCode >= 400)
    return { kind: 'not-sent', detail: `the mail server asks to retry (${responseCode} at ${step})` };
  const name = typeof code === 'string' && /^[A-Z]{1,30}$/.test(code) ? code : 'no code';
  if (name === 'EAUTH' || name === 'ETLS' || name === 'EENVELOPE')
    return { kind: 'refused', code: name, detail: `it failed at ${step}` };
  return step === 'CONN' || name === 'EDNS' || name === 'ECONNECTION'
    ? { kind: 'not-sent', detail: `no connection (${name})` }
    : { kind: 'unknown', detail: `the connection was lost (${name} at ${step})` };
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

/** The message as HTML that every mail program shows: a title, paragraphs, a table and lists. */
function htmlOf({ title, lines, facts, lists, note, link }: Message, pictureText: string | null): string {
  const rows = facts
    .map(
      ({ name, value }) =>
        `<tr><th scope="row" align="left" style="padding-right:1em">${escape(name)}</th><td>${escape(value)}</td></tr>`,
    )
    .join('');
  return [
    '<!doctype html><html><head><meta charset="utf-8"></head><body style="font-family:sans-serif">',
    `<h2>${escape(title)}</h2>`,
    ...lines.map((line) => `<p>${escape(line)}</p>`),
    rows === '' ? '' : `<table>${rows}</table>`,
    pictureText === null ? '' : `<p><img src="cid:chart" alt="${escape(pictureText)}" style="max-width:100%"></p>`,
    ...lists.map(
      (list) =>
        `<h3>${escape(list.title)}</h3><ul>${list.items.map((item) => `<li>${escape(item)}</li>`).join('')}</ul>`,
    ),
    note === null ? '' : `<p><small>${escape(note)}</small></p>`,
    link === null ? '' : `<p><a href="${escape(link.url)}">${escape(link.text)}</a></p>`,
    '</body></html>',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

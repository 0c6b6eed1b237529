/**
 * Access tokens of Microsoft Entra, by the OAuth 2.0 client credentials grant or from a virtual machine's own metadata
 * service, each kept until it is about to end.
 *
 * Never shows a secret, a token or Entra's message about them: only the code of a refusal is shown. The invariant: a
 * token of one identity is never used for another. Sources: learn.microsoft.com, "Microsoft identity platform and the
 * OAuth 2.0 client credentials flow" (shared secret; federated credential) and "How to use managed identities for Azure
 * resources on an Azure VM to acquire an access token" (api-version 2018-02-01, header Metadata).
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../core/time.js';
import { CallError, type Meaning } from '../rpc.js';
import { exchange, type Exchange, type Exchanged } from '../webhook/exchange.js';
import type { AzureIdentity, AzureSettings } from './settings.js';

const TOKEN = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() });
const REFUSAL = z.object({ error: z.string(), error_codes: z.array(z.number()).optional() });
const MOST_BYTES = 256 << 10;
/** A token is renewed so long before its end. */
const MARGIN_MS = 300_000;
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

interface Held {
  readonly token: Promise<string>;
  readonly until: { at: number };
}

/** The tokens of one identity. */
export class Tokens {
  private held: Held | null = null;

  constructor(
    private readonly settings: AzureSettings,
    private readonly identity: AzureIdentity,
    private readonly clock: Clock,
  ) {}

  /** @throws CallError: nothing but the question for a token was sent */
  async token(): Promise<string> {
    if (this.held !== null && this.clock.now() < this.held.until.at) return this.held.token;
    const until = { at: Infinity };
    const held: Held = {
      until,
      token: this.ask().then(
        ({ access_token, expires_in }) => {
          until.at = this.clock.now() + expires_in * 1000 - MARGIN_MS;
          return access_token;
        },
        (error: unknown) => {
          if (this.held === held) this.held = null;
          throw error;
        },
      ),
    };
    this.held = held;
    return held.token;
  }

  /** The token was not accepted: the next one is asked for again. */
  forget(): void {
    this.held = null;
  }

  private async ask(): Promise<z.output<typeof TOKEN>> {
    const answer = await exchange(await this.question());
    if (answer.kind !== 'answered') throw new CallError(unanswered(answer));
    if (answer.status === 429) throw new CallError({ kind: 'throttled', code: 'HTTP 429' });
    const parsed = TOKEN.safeParse(jsonOf(answer.text));
    if (answer.status === 200 && parsed.success) return parsed.data;
    if (answer.status >= 500) throw new CallError({ kind: 'unsent', code: `no token: HTTP ${answer.status}` });
    const refusal = REFUSAL.safeParse(jsonOf(answer.text)).data;
    const code = refusal?.error_codes?.[0];
    throw new CallError({
      kind: 'denied',
      code: code === undefined ? (plainCode(refusal?.error) ?? `HTTP ${answer.status}`) : `AADSTS${code}`,
      credentials: true,
    });
  }

  private async question(): Promise<Exchange> {
    const { hosts, tenant, audience, timeoutSeconds } = this.settings;
    const { identity } = this;
    const bounds = { timeoutMilliseconds: timeoutSeconds * 1000, mostBytes: MOST_BYTES };
    if (identity.kind === 'managed') {
      const url = new URL('/metadata/identity/oauth2/token', hosts.metadata);
      url.searchParams.set('api-version', '2018-02-01');
      url.searchParams.set('resource', `${audience}/`);
      if (identity.clientId !== null) url.searchParams.set('client_id', identity.clientId);
      return { url, method: 'GET', headers: { Metadata: 'true' }, body: null, ...bounds };
    }
    const proof: Record<string, string> =
      identity.kind === 'secret'
        ? { client_secret: identity.secret }
        : { client_assertion_type: ASSERTION, client_assertion: await assertionOf(identity.tokenFile) };
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: identity.clientId,
      scope: `${audience}/.default`,
      ...proof,
    });
    return {
      url: new URL(`/${tenant}/oauth2/v2.0/token`, hosts.login),
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      ...bounds,
    };
  }
}

async function assertionOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch {
    throw new CallError({ kind: 'denied', code: 'the federated token file cannot be read', credentials: true });
  }
}

/** Without a token nothing was asked of Azure itself, whatever became of the question for it. */
const unanswered = (answer: Exclude<Exchanged, { readonly kind: 'answered' }>): Meaning => ({
  kind: 'unsent',
  code: `no token: ${answer.detail}`,
});

const plainCode = (text: string | undefined): string | null =>
  text !== undefined && /^[a-z_]{1,60}$/.test(text) ? text : null;

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

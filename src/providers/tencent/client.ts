/**
 * Calls to Tencent Cloud's API 3.0 through its official client, signed with TC3-HMAC-SHA256.
 *
 * Never tries again and never lets the client's own errors out. The invariants: a request goes out once, over a
 * connection of its own; an error in a reply of HTTP status 200 is an error. Where another server takes the requests
 * they keep the service's Host, which is signed:
 * only the connection goes elsewhere.
 * Sources: Tencent Cloud API 3.0, "Signature v3", "Response" (Response.Error) and "Common error codes".
 */
import http from 'node:http';
import https from 'node:https';
import { CommonClient } from 'tencentcloud-sdk-nodejs-common';
import { denied } from '../../core/errors.js';
import { NEVER_SENT } from '../../core/never-sent.js';
import { CallError, scrubbed, type Meaning, type Use } from '../rpc.js';
import type { TencentSettings } from './settings.js';

export const CLOUD = 'Tencent Cloud';

/** Auto Scaling, Cloud Virtual Machine, billing. */
export type Service = 'as' | 'cvm' | 'billing';

const VERSIONS: Readonly<Record<Service, string>> = { as: '2018-04-19', cvm: '2017-03-12', billing: '2018-07-09' };
/** Prefixes of CAM actions; billing's is `finance` (Billing Center, "Granting Billing-related CAM Access"). */
const CAM_PREFIXES: Readonly<Record<Service, string>> = { as: 'as', cvm: 'cvm', billing: 'finance' };

export const permissionOf = (service: Service, action: string): string => `${CAM_PREFIXES[service]}:${action}`;

export type Params = Readonly<Record<string, unknown>>;

export class TencentClient {
  private readonly clients = new Map<string, CommonClient>();
  private readonly agent: http.Agent | undefined;

  constructor(readonly settings: TencentSettings) {
    this.agent = settings.endpoint === null ? undefined : agentTo(settings.endpoint);
  }

  /**
   * Calls an action in a region (billing has none: null).
   * @throws CallError, or Failure denied where there are no credentials for acting
   */
  async call(
    service: Service,
    action: string,
    region: string | null,
    params: Params,
    use: Use = 'read',
  ): Promise<unknown> {
    const client = this.client(service, region, use);
    try {
      return (await client.request(action, params)) as unknown;
    } catch (error) {
      throw new CallError(meaningOf(error, (text) => scrubbed(text, [this.settings.read, this.settings.act])));
    }
  }

  private client(service: Service, region: string | null, use: Use): CommonClient {
    const { settings } = this;
    const keys = use === 'read' ? settings.read : settings.act;
    if (keys === null)
      throw denied(
        'there are no Tencent Cloud credentials for acting (BURSAR_TENCENT_ACT_SECRET_ID): the connection is read-only',
      );
    const name = `${service} ${region ?? ''} ${use}`;
    const made =
      this.clients.get(name) ??
      new CommonClient(`${service}.${settings.site.domain}`, VERSIONS[service], {
        credential: { secretId: keys.id, secretKey: keys.secret },
        ...(region === null ? {} : { region }),
        profile: {
          language: settings.site.language,
          httpProfile: {
            reqTimeout: settings.timeoutSeconds,
            protocol: settings.endpoint?.startsWith('http:') === true ? 'http://' : 'https://',
            ...(this.agent === undefined ? {} : { agent: this.agent }),
          },
        },
      });
    this.clients.set(name, made);
    return made;
  }
}

/** An agent whose connections all go to one server, whatever host the request names. */
function agentTo(endpoint: string): http.Agent {
  const { protocol, hostname, port } = new URL(endpoint);
  const secure = protocol === 'https:';
  const options = { host: hostname, port: port === '' ? (secure ? 443 : 80) : Number(port), keepAlive: false };
  return secure ? new https.Agent({ ...options, servername: hostname }) : new http.Agent(options);
}

interface ClientError {
  readonly code?: unknown;
  readonly httpCode?: unknown;
  readonly message?: unknown;
}

function meaningOf(error: unknown, scrub: (text: string) => string): Meaning {
  const { code, httpCode, message } = (typeof error === 'object' && error !== null ? error : {}) as ClientError;
  const words = typeof message === 'string' ? message : '';
  if (typeof code === 'string' && code !== '') return codeMeaning(code, scrub(words));
  if (httpCode === 429) return { kind: 'throttled', code: 'HTTP 429' };
  if (typeof httpCode === 'number') return { kind: 'lost', code: `HTTP ${httpCode}` };
  // The client wraps what went wrong and keeps its words alone: `..., reason: connect ECONNREFUSED 10.0.0.1:443`.
  const [, step, errno = ''] = /reason: (?:(connect|getaddrinfo) )?(E[A-Z_]+)/.exec(words) ?? [];
  if (step !== undefined && NEVER_SENT.has(errno)) return { kind: 'unsent', code: errno };
  return { kind: 'lost', code: errno !== '' ? errno : words.includes('network timeout') ? 'timeout' : 'no answer' };
}

/**
 * A type, a zone or a disk is sold out for now; the other codes of these families are quotas and wrong parameters (CVM
 * API Reference, "Error Codes"; the constants of tencentcloud-sdk-go, cvm/v20170312).
 */
const FULL = new RegExp(
  '^(?:ResourcesSoldOut(?:\\.(?:AvailableZone|SpecifiedInstanceType))?|ResourceInsufficient(?:\\.(?:' +
    'AvailabilityZoneSoldOut|CloudDiskSoldOut|SpecifiedInstanceType|ZoneSoldOutForSpecifiedInstance))?)$',
);

function codeMeaning(code: string, detail: string): Meaning {
  if (/^RequestLimitExceeded(\.|$)/.test(code)) return { kind: 'throttled', code };
  if (FULL.test(code)) return { kind: 'full', code };
  if (/^(?:AuthFailure\.)?UnauthorizedOperation(\.|$)/.test(code)) return { kind: 'denied', code, credentials: false };
  if (/^AuthFailure(\.|$)/.test(code)) return { kind: 'denied', code, credentials: true };
  if (/^(?:InternalError|InternalServerError|ServiceUnavailable)(\.|$)/.test(code)) return { kind: 'lost', code };
  return { kind: 'refused', code, detail };
}

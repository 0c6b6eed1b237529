/**
 * Calls to Alibaba Cloud's RPC APIs through its official client, signed and sent as POST.
 *
 * Never tries again and never lets the client's own errors out: they name the address with the signature. The
 * invariant: a request that acts goes out once, over a connection of its own, so that a socket that died while idle is
 * not taken for a lost answer.
 * Sources: Alibaba Cloud, "Request syntax and signature method V2 for RPC APIs"; ECS API Reference, "Troubleshoot API
 * error codes"; Auto Scaling API Reference, "Client errors".
 */
import RPCClient from '@alicloud/pop-core';
import http from 'node:http';
import https from 'node:https';
import { denied } from '../../core/errors.js';
import { NEVER_SENT } from '../../core/never-sent.js';
import { CallError, scrubbed, type Meaning, type Use } from '../rpc.js';
import type { AlibabaSettings } from './settings.js';

/** Auto Scaling, Elastic Compute Service, billing. */
export type Service = 'ess' | 'ecs' | 'bss';

const VERSIONS: Readonly<Record<Service, string>> = { ess: '2022-02-22', ecs: '2014-05-26', bss: '2017-12-14' };
/** Prefixes of RAM actions (RAM, "Services that work with RAM"). */
const RAM_PREFIXES: Readonly<Record<Service, string>> = { ess: 'ess', ecs: 'ecs', bss: 'bssapi' };

export const permissionOf = (service: Service, action: string): string => `${RAM_PREFIXES[service]}:${action}`;

/**
 * Regions that the rule `SERVICE.REGION.aliyuncs.com` does not hold for. ECS: as its official client has them. Auto
 * Scaling: "Endpoints" of its API Reference (2022-02-22), page of 2026-01-28. For cn-hongkong, ap-southeast-1,
 * us-east-1, us-west-1 and the finance and government regions the official client (@alicloud/ess20220222) still has the
 * central address, and the pages have one of the region's own: the pages are followed, and BURSAR_ALIBABA_ENDPOINT_ESS
 * says otherwise where that is wanted.
 */
const CENTRAL_ESS = ['cn-beijing', 'cn-hangzhou', 'cn-shanghai', 'cn-shenzhen', 'cn-qingdao', 'cn-nanjing'];
const OTHER_HOSTS: Readonly<Record<Exclude<Service, 'bss'>, Readonly<Record<string, string>>>> = {
  ecs: { 'cn-hangzhou': 'ecs-cn-hangzhou.aliyuncs.com' },
  ess: Object.fromEntries(CENTRAL_ESS.map((region) => [region, 'ess.aliyuncs.com'])),
};

export function addressOf(settings: Pick<AlibabaSettings, 'endpoints'>, service: Service, region: string): string {
  const own = settings.endpoints[service];
  if (own !== null) return own.replaceAll('{region}', region);
  if (service === 'bss') return 'https://business.aliyuncs.com';
  return `https://${OTHER_HOSTS[service][region] ?? `${service}.${region}.aliyuncs.com`}`;
}

export type Params = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export class AlibabaClient {
  private readonly clients = new Map<string, RPCClient>();

  constructor(readonly settings: AlibabaSettings) {}

  /**
   * Calls an action in a region (billing has none: any region).
   * @throws CallError, or Failure denied where there are no credentials for acting
   */
  async call(service: Service, action: string, region: string, params: Params, use: Use = 'read'): Promise<unknown> {
    const client = this.client(service, region, use);
    try {
      return await client.request<unknown>(action, { ...params });
    } catch (error) {
      throw new CallError(meaningOf(error, (text) => scrubbed(text, [this.settings.read, this.settings.act])));
    }
  }

  private client(service: Service, region: string, use: Use): RPCClient {
    const { settings } = this;
    const keys = use === 'read' ? settings.read : settings.act;
    if (keys === null)
      throw denied(
        'there are no Alibaba Cloud credentials for acting (BURSAR_ALIBABA_ACT_ACCESS_KEY_ID): the connection is read-only',
      );
    const endpoint = addressOf(settings, service, region);
    const key = `${service} ${use} ${endpoint}`;
    const known = this.clients.get(key);
    if (known !== undefined) return known;
    const opts = {
      method: 'POST',
      timeout: settings.timeoutSeconds * 1000,
      ...(use === 'act' ? { agent: freshAgent(endpoint) } : {}),
    };
    const made = new RPCClient({
      endpoint,
      apiVersion: VERSIONS[service],
      accessKeyId: keys.id,
      accessKeySecret: keys.secret,
      opts,
    });
    this.clients.set(key, made);
    return made;
  }
}

const freshAgent = (endpoint: string): http.Agent =>
  endpoint.startsWith('https:') ? new https.Agent({ keepAlive: false }) : new http.Agent({ keepAlive: false });

interface ClientError {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly data?: { readonly Message?: unknown };
  readonly entry?: { readonly response?: { readonly statusCode?: unknown } };
}

const NO_CREDENTIALS =
  /^(?:InvalidAccessKey|InvalidAccessKeyId|SignatureDoesNotMatch|IncompleteSignature|SignatureNonceUsed|IllegalTimestamp|InvalidTimeStamp|InvalidSecurityToken|MissingSecurityToken)/;
const NO_PERMISSION =
  /^(?:Forbidden(?:\.RAM|\.SubUser|\.Unauthorized|\.NoPermission)?|NoPermission|NoPermission\..*|ActionUnauthorized|NotAuthorized|Unauthorized)$/;
const BUSY = /^Throttling|^(?:ServiceTrafficLimit|SystemBusy)/;
/** Sold out in the zone for now (ECS API Reference, "StartInstance" and "ModifyInstanceSpec", error codes). */
const FULL = /^OperationDenied\.NoStock$/;
const SERVER = /^(?:InternalError|ServiceUnavailable|UnknownError|ServiceFailure|InternalServiceError)/;

function meaningOf(error: unknown, scrub: (text: string) => string): Meaning {
  const { code, name, data, entry } = (typeof error === 'object' && error !== null ? error : {}) as ClientError;
  const text = typeof code === 'string' ? code : typeof name === 'string' ? name : 'no answer';
  if (data === undefined) return { kind: NEVER_SENT.has(text) ? 'unsent' : 'lost', code: scrub(text) };
  const status = entry?.response?.statusCode;
  if (BUSY.test(text) || status === 429) return { kind: 'throttled', code: text };
  if (FULL.test(text)) return { kind: 'full', code: text };
  if (NO_CREDENTIALS.test(text)) return { kind: 'denied', code: text, credentials: true };
  if (NO_PERMISSION.test(text)) return { kind: 'denied', code: text, credentials: false };
  if (SERVER.test(text) || (typeof status === 'number' && status >= 500)) return { kind: 'lost', code: text };
  return { kind: 'refused', code: text, detail: scrub(typeof data.Message === 'string' ? data.Message : '') };
}

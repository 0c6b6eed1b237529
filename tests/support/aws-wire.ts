/**
 * AWS as the wire server plays it: which request is which, replies of src/providers/aws/replies, errors in AWS' two XML
 * forms, and the connection of the real provider to it. It signs nothing and checks no signature: it only reads whose
 * key signed, and for which region.
 */
import type { Clock } from '../../src/core/time.js';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, expect } from 'vitest';
import type { Failure } from '../../src/core/errors.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider } from '../../src/providers/aws/aws.js';
import { ROOT } from './source.js';
import { WireServer, type WireMatch, type WireReply, type WireRequest } from './wire-server.js';

export const READ_KEY = 'AKIAREADEXAMPLE';
export const ACT_KEY = 'AKIAACTEXAMPLE';
export const READ_SECRET = 'read-secret-nobody-may-see';
export const ACT_SECRET = 'act-secret-nobody-may-see';

export const NOW = Date.UTC(2026, 9, 20, 12);

/** A clock that only the test moves. */
export class TestClock implements Clock {
  constructor(public at = NOW) {}

  now(): number {
    return this.at;
  }
}

export const reading = (server: WireServer): Record<string, string> => ({
  BURSAR_AWS_ENDPOINT: server.url,
  BURSAR_AWS_REGIONS: 'us-east-1',
  BURSAR_AWS_READ_ACCESS_KEY_ID: READ_KEY,
  BURSAR_AWS_READ_SECRET_ACCESS_KEY: READ_SECRET,
});
export const acting = (server: WireServer): Record<string, string> => ({
  ...reading(server),
  BURSAR_AWS_ACT_ACCESS_KEY_ID: ACT_KEY,
  BURSAR_AWS_ACT_SECRET_ACCESS_KEY: ACT_SECRET,
});

/** AWS' connection can do everything. */
export type AwsConnection = Required<ProviderConnection>;

export function connect(settings: Readonly<Record<string, string>>, clock: Clock = new TestClock()): AwsConnection {
  const connection = provider.connect(settings, clock);
  if (connection === null) throw new Error('no connection');
  return connection as AwsConnection;
}

/** The parameters of a query request, or of a JSON one; with the action's name as `Action`. */
export function parametersOf(request: WireRequest): Record<string, unknown> {
  const target = String(request.headers['x-amz-target'] ?? '').split('.')[1];
  if (target !== undefined) return { Action: target, ...(JSON.parse(request.body) as object) };
  if (request.path !== '/') return { Action: request.path.slice(1), ...(JSON.parse(request.body) as object) };
  const { Version: _, ...parameters } = Object.fromEntries(new URLSearchParams(request.body));
  return parameters;
}

/** Whose access key signed, for which region and service: from the scope of a version 4 signature. */
export function signedBy(request: WireRequest): {
  key: string | undefined;
  region: string | undefined;
  service: string | undefined;
} {
  const scope = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=[^,]+, Signature=[0-9a-f]{64}$/.exec(
    String(request.headers.authorization),
  )?.[1];
  const [key, , region, service] = scope?.split('/') ?? [];
  return { key, region, service };
}

/** Requests of an action, with all parameters given, and signed for the region where one is named. */
export function call(Action: string, parameters: Readonly<Record<string, string>> = {}, region?: string): WireMatch {
  return (request) => {
    const sent = parametersOf(request);
    return (
      sent['Action'] === Action &&
      Object.entries(parameters).every(([name, value]) => sent[name] === value) &&
      (region === undefined || signedBy(request).region === region)
    );
  };
}

/** What was sent of an action, in order. */
export const sent = (server: WireServer, action: string): Record<string, unknown>[] =>
  server.requests.map(parametersOf).filter(({ Action }) => Action === action);

const textOf = (name: string): string => readFileSync(path.join(ROOT, 'src/providers/aws/replies', name), 'utf8');

/** A reply of the folder, with texts in it replaced where they are named. */
export function reply(name: string, replaced: Readonly<Record<string, string>> = {}): WireReply {
  const body = Object.entries(replaced).reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    name.startsWith('get-products') ? asPriceList(textOf(name)) : textOf(name),
  );
  return {
    headers: {
      'content-type': name.endsWith('.json') ? 'application/x-amz-json-1.1' : 'text/xml;charset=UTF-8',
      'x-amzn-requestid': `request of ${name}`,
    },
    body,
  };
}

/** On the wire a product is a string. */
function asPriceList(text: string): string {
  const page = JSON.parse(text) as { PriceList: object[] };
  return JSON.stringify({ ...page, PriceList: page.PriceList.map((product) => JSON.stringify(product)) });
}

/** An error as EC2 writes it. */
export const ec2Error = (code: string, message: string, status = 400): WireReply => ({
  status,
  headers: { 'content-type': 'text/xml;charset=UTF-8' },
  body: `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>ea966190-f9aa-478e-9ede-example</RequestID></Response>`,
});

/** An error as Auto Scaling writes it. */
export const groupError = (code: string, message: string, status = 400): WireReply => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: `<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>4d4b7a1b-example</RequestId></ErrorResponse>`,
});

/** An error of a JSON service. */
export const jsonError = (code: string, message: string, status = 400): WireReply => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-errortype': code },
  body: JSON.stringify({ __type: code, message }),
});

/** The account of most tests: instances and groups of us-east-1 in two pages each. */
export function playFleet(server: WireServer): void {
  server.on(call('DescribeLifecycleHooks'), reply('describe-lifecycle-hooks.xml'));
  server.on(call('DescribePolicies'), reply('describe-policies.xml'));
  server.on(call('DescribeInstanceStatus'), reply('describe-instance-status.xml'));
  server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-none.xml'));
  server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-none.json'));
  server.on(call('DescribeSpotInstanceRequests'), reply('describe-spot-instance-requests.xml'));
  server.on(call('DescribeInstances'), reply('describe-instances-1.xml'));
  server.on(call('DescribeInstances', { NextToken: 'page-2' }), reply('describe-instances-2.xml'));
  server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
  server.on(call('DescribeAutoScalingGroups'), reply('describe-auto-scaling-groups-1.xml'));
  server.on(call('DescribeAutoScalingGroups', { NextToken: 'groups-2' }), reply('describe-auto-scaling-groups-2.xml'));
  server.on(
    call('DescribeLaunchTemplateVersions'),
    ec2Error('InvalidLaunchTemplateId.NotFound', 'The specified launch template does not exist'),
  );
  server.on(
    call('DescribeLaunchTemplateVersions', { LaunchTemplateId: 'lt-0train' }),
    reply('describe-launch-template-versions.xml'),
  );
}

/** Volumes in two pages, their modifications, and what two of the machines sent. */
export function playStorage(server: WireServer): void {
  server.on(call('DescribeVolumes'), reply('describe-volumes-1.xml'));
  server.on(call('DescribeVolumes', { NextToken: 'volumes-2' }), reply('describe-volumes-2.xml'));
  server.on(call('DescribeVolumesModifications'), reply('describe-volumes-modifications.xml'));
  server.on(call('GetMetricData'), reply('get-metric-data.json'));
}

/** The price list of volumes; what is asked of machines is another rule's. */
export const asksForVolumes: WireMatch = (request) =>
  call('GetProducts')(request) && request.body.includes('"Value":"Storage"');

export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

/** AWS as a file of tests plays it: no test leaves a request that it did not expect. */
export async function awsServer(): Promise<WireServer> {
  const server = await WireServer.start();
  afterEach(() => {
    const unmatched = server.unmatched.map(parametersOf);
    // First: what one test left is no other's.
    server.reset();
    expect(unmatched).toEqual([]);
  });
  afterAll(() => server.close());
  return server;
}

/** What a call fails with. */
export const failureOf = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as Failure,
  );

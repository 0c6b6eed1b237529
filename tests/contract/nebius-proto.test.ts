/**
 * Every call that the Nebius part can make and every field of a message that it sends or reads, held against Nebius'
 * own protocol buffers; that a misspelling of each kind would be found; and its reading and writing of the wire against
 * protobufjs.
 */
import { describe, expect, it } from 'vitest';
import {
  CREATE_INSTANCE,
  INSTANCE,
  METHODS,
  RPC_STATUS,
  SERVICE_ERROR,
  type Method,
} from '../../src/providers/nebius/messages.js';
import { decode, encode, ProtoError, type Field } from '../../src/providers/nebius/protobuf.js';
import { problemsOfMessage, problemsOfMethod, PROTO } from '../support/nebius-proto.js';

const calls: readonly Method[] = Object.values(METHODS);

describe('the calls of Nebius', () => {
  it.each(calls.map((one) => [`${one.service}/${one.name}`, one] as const))(
    '%s is as its protocol buffers say',
    (_, one) => {
      expect(problemsOfMethod(one)).toEqual([]);
    },
  );

  it('send and read messages that are so too, within others', () => {
    for (const one of [CREATE_INSTANCE, RPC_STATUS, SERVICE_ERROR]) expect(problemsOfMessage(one)).toEqual([]);
  });
});

describe('a misspelling is found', () => {
  const { stop, instances } = METHODS;
  const field = (name: string, over: Field): string[] =>
    problemsOfMessage({ name: INSTANCE.name, fields: { [name]: over } });
  const state = (...words: string[]): string[] =>
    problemsOfMessage({ name: 'nebius.compute.v1.InstanceStatus', fields: { state: { number: 1, type: { words } } } });
  const STATES = ['UNSPECIFIED', 'CREATING', 'UPDATING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'DELETING'];
  it.each<readonly [string, string[]]>([
    ['of a service', problemsOfMethod({ ...stop, service: 'nebius.compute.v1.InstancesService' })],
    ['of its host', problemsOfMethod({ ...stop, host: 'computes' })],
    ['of a method', problemsOfMethod({ ...stop, name: 'Halt' })],
    ['of a request', problemsOfMethod({ ...stop, request: METHODS.start.request })],
    ['of a reply', problemsOfMethod({ ...instances, reply: METHODS.platforms.reply })],
    ['of a message', problemsOfMessage({ name: 'nebius.compute.v1.Instances', fields: {} })],
    ['of a field', field('meta', { number: 1, type: INSTANCE.fields.metadata.type })],
    ['of a number', field('metadata', { number: 4, type: INSTANCE.fields.metadata.type })],
    ['of a type', field('metadata', { number: 1, type: 'string' })],
    ['of a message within', field('metadata', { number: 1, type: INSTANCE.fields.spec.type })],
    ['of a list', field('metadata', { number: 1, type: INSTANCE.fields.metadata.type, many: 'list' })],
    ['a word that is not told apart', state(...STATES)],
    ['a word that is none', state(...STATES, 'ERROR', 'LOST')],
  ])('%s', (_, problems) => {
    expect(problems).toHaveLength(1);
  });
});

describe('the wire', () => {
  const theirs = PROTO.lookupType(INSTANCE.name);
  const whole = {
    metadata: {
      id: 'computeinstance-é',
      parent_id: 'project-1',
      resource_version: 9_007_199_254,
      labels: { team: 'ml', tier: '' },
    },
    spec: {
      resources: { platform: 'gpu-h100-sxm', preset: '8gpu' },
      preemptible: { on_preemption: 1 },
      cloud_init_user_data: 'x',
    },
    status: {
      state: 4,
      network_interfaces: [{ fqdn: 'a' }, { ip_address: { address: '10.0.0.5' } }],
      reconciling: true,
    },
  };

  it('is read as protobufjs writes it, past fields that are not known', () => {
    const read = decode(INSTANCE, theirs.encode(theirs.fromObject(whole)).finish());
    expect(read.metadata).toEqual({
      id: 'computeinstance-é',
      parent_id: 'project-1',
      name: '',
      labels: { team: 'ml', tier: '' },
    });
    expect(read.spec?.resources).toEqual({ platform: 'gpu-h100-sxm', preset: '8gpu' });
    expect([read.spec?.preemptible?.on_preemption, read.spec?.local_disks]).toEqual(['STOP', null]);
    expect(read.status?.state).toBe('RUNNING');
    expect(read.status?.network_interfaces.map(({ fqdn, ip_address }) => [fqdn, ip_address?.address])).toEqual([
      ['a', undefined],
      ['', '10.0.0.5'],
    ]);
  });

  it('is written so that protobufjs reads the same', () => {
    const { request } = METHODS.estimate;
    const type = PROTO.lookupType(request.name);
    const value = {
      resource_specs: [{ spec: { type_url: 'a/b', value: Buffer.from([0, 255, 128]) } }],
      currency: 'usd',
      filter_aggregation_unit: { filter_aggregation_unit_values: ['FILTER_AGGREGATION_UNIT_HOUR'] },
    };
    expect(type.toObject(type.decode(encode(request, value)), { enums: String, bytes: Buffer })).toEqual(value);
    const pages = METHODS.instances.request;
    const page = PROTO.lookupType(pages.name);
    const asked = { parent_id: 'p', page_size: 2 ** 40, page_token: 'ü' };
    expect(page.toObject(page.decode(encode(pages, asked)), { longs: Number })).toEqual(asked);
  });

  it('takes bytes that are no such message for an error, and a word that is not known for none', () => {
    const bytes = theirs.encode(theirs.fromObject(whole)).finish();
    for (const wrong of [
      bytes.subarray(0, bytes.length - 1),
      Buffer.from([0x0a]),
      Buffer.from([0x08, 0x01]),
      Buffer.from([0x0b]),
    ])
      expect(() => decode(INSTANCE, wrong)).toThrow(ProtoError);
    expect(decode(INSTANCE, Buffer.from([0x1a, 0x02, 0x08, 0x63])).status?.state).toBeNull();
  });
});

/**
 * Every message that this part sends and reads, with the fields that it uses, and the calls that it makes.
 *
 * Data alone: it calls nobody. The invariant: nothing is sent and nothing is read that is not written here, so that all
 * of it can be compared with Nebius' own protocol buffers (tests/contract/nebius-proto.test.ts): services, methods,
 * messages, names, numbers, types and the words of enumerations. Sources: github.com/nebius/api (common, compute,
 * billing and iam, v1); google.protobuf and google.rpc.
 */
import type { Field, Message, Words } from './protobuf.js';

const message = <const Fields extends Readonly<Record<string, Field>>>(name: string, fields: Fields) =>
  ({ name, fields }) satisfies Message;
const text = (number: number) => ({ number, type: 'string' }) as const;
const one = <const Type extends Field['type']>(number: number, type: Type) => ({ number, type }) as const;
const list = <const Type extends Field['type']>(number: number, type: Type) =>
  ({ number, type, many: 'list' }) as const;
const words = <const Word extends string>(...all: readonly Word[]): Words<Word> => ({ words: all });

const COMPUTE = 'nebius.compute.v1';
const COMMON = 'nebius.common.v1';
const BILLING = 'nebius.billing.v1';
const IAM = 'nebius.iam.v1';

const METADATA = message(`${COMMON}.ResourceMetadata`, {
  id: text(1),
  parent_id: text(2),
  name: text(3),
  labels: { number: 7, type: 'string', many: 'map' },
});

const ADDRESS = message(`${COMPUTE}.IPAddressStatus`, { address: text(1) });
const PUBLIC_ADDRESS = message(`${COMPUTE}.PublicIPAddressStatus`, { address: text(1) });
const INTERFACE = message(`${COMPUTE}.NetworkInterfaceStatus`, {
  ip_address: one(3, ADDRESS),
  public_ip_address: one(4, PUBLIC_ADDRESS),
  fqdn: text(9),
});
const RESOURCES = message(`${COMPUTE}.ResourcesSpec`, { platform: text(1), preset: text(2) });
const PREEMPTIBLE = message(`${COMPUTE}.PreemptibleSpec`, { on_preemption: one(1, words('UNSPECIFIED', 'STOP')) });
const PASSTHROUGH = message(`${COMPUTE}.PassthroughGroupRequest`, { requested: one(1, 'bool') });
const LOCAL_DISKS = message(`${COMPUTE}.LocalDisksSpec`, { passthrough_group: one(1, PASSTHROUGH) });
const INSTANCE_SPEC = message(`${COMPUTE}.InstanceSpec`, {
  resources: one(2, RESOURCES),
  preemptible: one(19, PREEMPTIBLE),
  hostname: text(20),
  local_disks: one(24, LOCAL_DISKS),
});
export const STATES = words(
  'UNSPECIFIED',
  'CREATING',
  'UPDATING',
  'STARTING',
  'RUNNING',
  'STOPPING',
  'STOPPED',
  'DELETING',
  'ERROR',
);
const INSTANCE_STATUS = message(`${COMPUTE}.InstanceStatus`, {
  state: one(1, STATES),
  network_interfaces: list(2, INTERFACE),
  reservation_id: text(12),
});
export const INSTANCE = message(`${COMPUTE}.Instance`, {
  metadata: one(1, METADATA),
  spec: one(2, INSTANCE_SPEC),
  status: one(3, INSTANCE_STATUS),
});

const PRESET = message(`${COMPUTE}.Preset`, {
  name: text(1),
  resources: one(2, message(`${COMPUTE}.PresetResources`, { gpu_count: one(4, 'int32') })),
});
export const PLATFORM = message(`${COMPUTE}.Platform`, {
  metadata: one(1, METADATA),
  spec: one(
    2,
    message(`${COMPUTE}.PlatformSpec`, {
      presets: list(1, PRESET),
      human_readable_name: text(4),
      gpu_memory_gigabytes: one(12, 'int32'),
    }),
  ),
  status: one(3, message(`${COMPUTE}.PlatformStatus`, { allowed_for_preemptibles: one(3, 'bool') })),
});

export const CREATE_INSTANCE = message(`${COMPUTE}.CreateInstanceRequest`, {
  metadata: one(1, METADATA),
  spec: one(2, INSTANCE_SPEC),
});
const ANY = message('google.protobuf.Any', { type_url: text(1), value: one(2, 'bytes') });
const COST = message(`${BILLING}.GeneralResourceCost`, {
  total: one(1, message(`${BILLING}.CostBreakdown`, { cost: text(2) })),
});
const UNIT = message(`${BILLING}.AggregationUnit`, {
  unit: text(1),
  unit_type: one(2, words('UNIT_TYPE_UNSPECIFIED', 'UNIT_TYPE_TIME_BASED', 'UNIT_TYPE_USAGE_BASED')),
});
const AGGREGATION = words(
  'FILTER_AGGREGATION_UNIT_UNSPECIFIED',
  'FILTER_AGGREGATION_UNIT_MINUTE',
  'FILTER_AGGREGATION_UNIT_HOUR',
  'FILTER_AGGREGATION_UNIT_DAY',
  'FILTER_AGGREGATION_UNIT_WEEK',
  'FILTER_AGGREGATION_UNIT_MONTH',
);

/** The details of a failure that distinguish failures. */
export const RPC_STATUS = message('google.rpc.Status', {
  code: one(1, 'int32'),
  message: text(2),
  details: list(3, ANY),
});
export const SERVICE_ERROR = message(`${COMMON}.ServiceError`, {
  service: text(1),
  code: text(2),
  quota_failure: one(141, message(`${COMMON}.QuotaFailure`, {})),
  not_enough_resources: one(142, message(`${COMMON}.NotEnoughResources`, {})),
});

/** One call that can be made. */
export interface Method<Request extends Message = Message, Reply extends Message = Message> {
  /** Before `.api.nebius.cloud`, as the service's own option has it. */
  readonly host: string;
  /** `nebius.compute.v1.InstanceService`. */
  readonly service: string;
  readonly name: string;
  readonly request: Request;
  readonly reply: Reply;
}

const method = <const Request extends Message, const Reply extends Message>(
  host: string,
  service: string,
  name: string,
  request: Request,
  reply: Reply,
): Method<Request, Reply> => ({ host, service, name, request, reply });

const OPERATION = message(`${COMMON}.Operation`, { id: text(1) });
const byId = <const Name extends string>(name: Name) => message(`${COMPUTE}.${name}`, { id: text(1) });
const pages = (name: string, parent: number, size: number, token: number) =>
  message(`${COMPUTE}.${name}`, { parent_id: text(parent), page_size: one(size, 'int64'), page_token: text(token) });
const INSTANCES = `${COMPUTE}.InstanceService`;

export const METHODS = {
  instances: method(
    'compute',
    INSTANCES,
    'List',
    pages('ListInstancesRequest', 1, 2, 3),
    message(`${COMPUTE}.ListInstancesResponse`, { items: list(1, INSTANCE), next_page_token: text(2) }),
  ),
  instance: method('compute', INSTANCES, 'Get', byId('GetInstanceRequest'), INSTANCE),
  start: method('compute', INSTANCES, 'Start', byId('StartInstanceRequest'), OPERATION),
  stop: method('compute', INSTANCES, 'Stop', byId('StopInstanceRequest'), OPERATION),
  remove: method('compute', INSTANCES, 'Delete', byId('DeleteInstanceRequest'), OPERATION),
  platforms: method(
    'compute',
    `${COMPUTE}.PlatformService`,
    'List',
    pages('ListPlatformsRequest', 3, 1, 2),
    message(`${COMPUTE}.ListPlatformsResponse`, { items: list(1, PLATFORM), next_page_token: text(2) }),
  ),
  estimate: method(
    'api.calculator.billing-data-plane',
    `${BILLING}.CalculatorService`,
    'EstimateBatch',
    message(`${BILLING}.EstimateBatchRequest`, {
      resource_specs: list(1, message(`${BILLING}.ResourceSpec`, { spec: one(1, ANY) })),
      currency: text(11),
      filter_aggregation_unit: one(
        20,
        message(`${BILLING}.FilterAggregationUnit`, { filter_aggregation_unit_values: list(1, AGGREGATION) }),
      ),
    }),
    message(`${BILLING}.EstimateBatchResponse`, {
      resource_costs: list(
        1,
        message(`${BILLING}.ResourceCost`, {
          metadata: one(1, METADATA),
          aggregation_unit: one(4, UNIT),
          general: one(20, COST),
        }),
      ),
      currency: text(20),
    }),
  ),
  token: method(
    'tokens.iam',
    `${IAM}.TokenExchangeService`,
    'Exchange',
    message(`${IAM}.ExchangeTokenRequest`, {
      grant_type: text(1),
      requested_token_type: text(2),
      subject_token: text(3),
      subject_token_type: text(4),
    }),
    message(`${IAM}.CreateTokenResponse`, { access_token: text(1), token_type: text(3), expires_in: one(4, 'int64') }),
  ),
} as const;

/**
 * The validating admission webhook of Kubernetes (AdmissionReview v1 in and out), and the settings for what it refuses.
 *
 * A decision changes one thing only: an admitted pod takes its GPUs from the reservation that it names, and a deleted
 * pod gives them back. Refusals and warnings are recorded after the answer. A dry run leaves nothing. An API server
 * that cannot send a header sends its key in the path. A pod without GPUs is allowed with any key, as long as it is
 * small: a caller without a valid key may send little. Paths outside /v1, since their form is Kubernetes'.
 */
import { Controller, Logger, Req, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  admit,
  admitUnseen,
  ADMISSION_MODES,
  ALLOWED,
  DEFAULT_ADMISSION,
  launchOf,
  usesReservation,
  type AdmissionFacts,
  type AdmissionSettings,
  type AdmissionVerdict,
  type ClusterPlace,
  type Launch,
} from '../../core/budget/admission.js';
import { invalid } from '../../core/errors.js';
import { providerName } from '../../core/price/price.js';
import { leavingOf, whyTurnedAway } from '../../core/budget/reservation-pods.js';
import { admissionSettings, saveAdmissionSettings } from '../../store/budget/admission.js';
import { AdmissionDesk } from '../admission-desk.js';
import { bearerOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { Refusal } from '../problem.js';
import { write } from '../writes.js';

const quantities = z.record(z.string(), z.union([z.string(), z.number()])).optional();
const container = z.looseObject({
  resources: z.looseObject({ requests: quantities, limits: quantities }).optional(),
  restartPolicy: z.string().optional(),
});
const containers = z
  .array(container)
  .nullish()
  .transform((list) => list ?? []);
const labels = z.record(z.string(), z.string()).nullish();
const pod = z.looseObject({
  metadata: z
    .looseObject({
      uid: z.string().max(200).optional(),
      name: z.string().optional(),
      generateName: z.string().optional(),
      labels,
      annotations: labels,
      ownerReferences: z
        .array(z.looseObject({ kind: z.string(), name: z.string(), controller: z.boolean().optional() }))
        .optional(),
    })
    .optional(),
  spec: z
    .looseObject({ containers, initContainers: containers, nodeSelector: z.record(z.string(), z.string()).optional() })
    .optional(),
});
const requestSchema = z.looseObject({
  uid: z.string().min(1).max(200),
  kind: z.looseObject({ group: z.string().optional(), kind: z.string() }),
  operation: z.string(),
  subResource: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  dryRun: z.boolean().nullish(),
  object: z.unknown().describe('The pod'),
  oldObject: z.unknown().describe('For a deletion: the pod'),
});
/** The fields read of a pod that is being deleted: any pod may go. */
const leavingPod = z.looseObject({
  metadata: z
    .looseObject({ uid: z.string().max(200).optional(), name: z.string().optional(), labels, annotations: labels })
    .optional(),
});
const reviewSchema = z
  .looseObject({
    apiVersion: z.literal('admission.k8s.io/v1'),
    kind: z.literal('AdmissionReview'),
    request: requestSchema,
  })
  .meta({ id: 'AdmissionReviewRequest', description: 'admission.k8s.io/v1 AdmissionReview as an API server sends it' });
const answerSchema = z
  .strictObject({
    apiVersion: z.literal('admission.k8s.io/v1'),
    kind: z.literal('AdmissionReview'),
    response: z.strictObject({
      uid: z.string(),
      allowed: z.boolean(),
      warnings: z.array(z.string()).optional(),
      auditAnnotations: z.record(z.string(), z.string()).optional(),
      status: z
        .strictObject({ status: z.literal('Failure'), code: z.int(), reason: z.string(), message: z.string() })
        .optional(),
    }),
  })
  .meta({ id: 'AdmissionReview', description: 'admission.k8s.io/v1' });
const querySchema = z.object({
  timeout: z.string().optional().describe('Set by the API server: how long it waits'),
  provider: z.string().max(200).optional().describe('Provider of the machines, as in the metered usage'),
  account: z.string().max(200).optional(),
  cluster: z.string().max(200).optional(),
  onFailure: z
    .enum(['allow', 'refuse'])
    .default('allow')
    .describe("Default until the organisation's own setting has been read once"),
});
const mode = z.enum(ADMISSION_MODES);
const settingsSchema = z
  .strictObject({
    mode: mode
      .default(DEFAULT_ADMISSION.mode)
      .describe('What happens to a pod with GPUs whose team has no budget left'),
    withoutBudget: mode
      .default(DEFAULT_ADMISSION.withoutBudget)
      .describe('What happens for a team without a planned budget'),
    onFailure: z
      .enum(['allow', 'refuse'])
      .default(DEFAULT_ADMISSION.onFailure)
      .describe('What happens if the budgets cannot be looked up in time'),
    contact: z.string().min(1).max(200).nullable().default(null).describe('Whom people should ask'),
    exemptNamespaces: z.array(z.string().min(1).max(200)).max(1000).default([]).describe('Patterns with * and ?'),
    teams: z
      .record(
        z.string().min(1).max(200),
        z.strictObject({ mode: mode.optional(), contact: z.string().min(1).max(200).nullable().optional() }),
      )
      .default({})
      .describe('For a team and those below it'),
  })
  .meta({ id: 'AdmissionSettings' });
/** As it is answered: every setting is stated. */
const storedSchema = z.strictObject(settingsSchema.shape).meta({ id: 'StoredAdmissionSettings' });

type Review = z.infer<typeof reviewSchema>;
type Answer = z.infer<typeof answerSchema>;
type Query = z.infer<typeof querySchema>;

/** A pod is at most what etcd stores, and a review holds it twice, old and new. */
const MOST_BODY_BYTES = 8 << 20;
/**
 * The API server's timeout where it states none (Kubernetes, "Dynamic Admission Control: Timeouts": 10 seconds by
 * default).
 */
const DEFAULT_WAIT_MS = 10_000;
const MOST_LOOKUP_MS = 3000;
const SHARE_OF_WAIT = 0.8;

/** A pod without GPUs is admitted for any caller, as long as it is no larger than pods are. */
const MOST_UNKNOWN_BYTES = 256 << 10;

/** How long the check of the key may take, of the API server's timeout. */
const waiting = ({ query }: FastifyRequest): number =>
  lookupMs(z.object({ timeout: z.string() }).safeParse(query).data?.timeout);

const OPTIONS = {
  summary: 'Review a pod before it is launched',
  access: 'open',
  mostBodyBytes: MOST_BODY_BYTES,
  mostUnknownBytes: MOST_UNKNOWN_BYTES,
  answer: answerSchema,
} as const;

@Controller()
export class AdmissionController implements OnModuleDestroy {
  private readonly desk: AdmissionDesk;

  constructor(@InjectParts() private readonly parts: WebParts) {
    const logger = new Logger('admission');
    const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
    this.desk = new AdmissionDesk(parts.stores, parts.clock, (error) =>
      logger.warn(`the budgets were not looked up: ${textOf(error)}`),
    );
    parts.stores.admissions.onFailure = (error) => logger.warn(`what was refused is written later: ${textOf(error)}`);
  }

  /** Waits for pending records. */
  async onModuleDestroy(): Promise<void> {
    await this.parts.stores.admissions.settled();
  }

  @Endpoint('POST /admission/v1/reviews', {
    ...OPTIONS,
    knock: (request) => ({ key: bearerOf(request), milliseconds: waiting(request) }),
    description:
      'Called by an API server, with an API key as bearer token (of any role, or with the scope admission; all teams). A pod may name its reservation by the annotation or label bursar.io/reservation, and then uses GPUs of that reservation; deleting the pod gives them back. /v1/admissions lists refusals and warnings.',
  })
  async review(
    @Req() request: FastifyRequest,
    @QueryInput(querySchema) query: Query,
    @JsonBody(reviewSchema) body: Review,
  ): Promise<Answer> {
    return this.answer(request, bearerOf(request), query, body);
  }

  @Endpoint('POST /admission/v1/reviews/:key', {
    ...OPTIONS,
    knock: (request) => ({ key: keyInPath(request), milliseconds: waiting(request) }),
    description: 'The same, with the API key in the path, for an API server that sends no header.',
  })
  async reviewByPath(
    @Req() request: FastifyRequest,
    @PathInput('key', z.string().min(1).max(200)) key: string,
    @QueryInput(querySchema) query: Query,
    @JsonBody(reviewSchema) body: Review,
  ): Promise<Answer> {
    return this.answer(request, key, query, body);
  }

  @Endpoint('GET /v1/admission', {
    summary: 'Get what the admission webhook refuses',
    access: 'read',
    allTeams: true,
    answer: storedSchema,
  })
  async get(@Calling() { principal }: Caller): Promise<AdmissionSettings> {
    const { stores } = this.parts;
    return admissionSettings(stores, stores.db, principal.organisation);
  }

  @Endpoint('PUT /v1/admission', {
    summary: 'Set what the admission webhook refuses',
    access: 'admin',
    allTeams: true,
    writes: true,
    answer: storedSchema,
  })
  async save(
    @Calling() caller: Caller,
    @JsonBody(settingsSchema) settings: z.infer<typeof settingsSchema>,
  ): Promise<AdmissionSettings> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'admission.set', async (tx) => {
      const before = await admissionSettings(stores, tx, organisation);
      await saveAdmissionSettings(stores, tx, organisation, settings);
      return { body: settings, target: 'admission', detail: { before, after: settings } };
    });
  }

  private async answer(asked: FastifyRequest, key: string | null, query: Query, { request }: Review): Promise<Answer> {
    const known = asked.mayBeWhole ? key : null;
    const milliseconds = Math.max(1, lookupMs(query.timeout) - asked.knockedMilliseconds);
    return answerOf(request.uid, await this.verdict(known, query, request, milliseconds));
  }

  /** @param key null without a valid one */
  private async verdict(
    key: string | null,
    query: Query,
    request: Review['request'],
    milliseconds: number,
  ): Promise<AdmissionVerdict> {
    // Other objects pass unchanged: only a pod has the form of one.
    const launch =
      request.kind.kind !== 'Pod' || request.operation !== 'CREATE'
        ? null
        : launchOf({ ...request, object: podOf(request.object) });
    if (launch === null) return this.leaving(key, query, request, milliseconds);
    if (key === null)
      throw new Refusal(401, 'the webhook needs a valid API key: Authorization: Bearer <key>, or in the path');
    const { clock, stores } = this.parts;
    const until = clock.now() + milliseconds;
    const found = await this.desk.lookUp(key, milliseconds);
    if (found.kind === 'unknown')
      return admitUnseen(launch, found.settings?.onFailure ?? query.onFailure, found.settings?.exemptNamespaces);
    const { organisation, facts } = found;
    const place = {
      provider: providerName(query.provider ?? 'Kubernetes'),
      account: query.account ?? null,
      cluster: query.cluster ?? null,
    };
    const verdict = await this.byReservation(admit(launch, place, facts), launch, place, {
      organisation,
      facts,
      isDry: request.dryRun === true,
      until,
    });
    if (request.dryRun !== true)
      stores.admissions.note({
        organisation,
        at: clock.now(),
        notes: verdict.notes ?? [],
        zoneOf: (team) => facts.teams.get(team)?.zone ?? 'UTC',
      });
    return verdict;
  }

  /**
   * An admitted pod that names a reservation takes its GPUs from it. Where the reservation has too few left, the pod is
   * judged again, as if it named none.
   */
  private async byReservation(
    verdict: AdmissionVerdict,
    launch: Launch,
    place: ClusterPlace,
    {
      organisation,
      facts,
      isDry,
      until,
    }: {
      readonly organisation: string;
      readonly facts: AdmissionFacts;
      readonly isDry: boolean;
      readonly until: number;
    },
  ): Promise<AdmissionVerdict> {
    const { claim, reservation } = launch;
    if (!verdict.allowed || claim === undefined || reservation === undefined || !usesReservation(launch, place, facts))
      return verdict;
    const { onFailure, exemptNamespaces } = facts.settings;
    const now = this.parts.clock.now();
    const taking = await this.desk.take(
      { ...claim, organisation, reservation, cluster: place.cluster ?? '', now },
      isDry,
      Math.max(1, until - now),
      onFailure === 'allow',
    );
    if (taking === null) return admitUnseen(launch, onFailure, exemptNamespaces);
    return taking.granted ? verdict : admit({ ...launch, turnedAway: whyTurnedAway(taking, claim) }, place, facts);
  }

  /** Everything else is allowed; a deleted pod gives back what it took of its reservation. */
  private async leaving(
    key: string | null,
    { cluster }: Query,
    { oldObject, dryRun, ...review }: Review['request'],
    milliseconds: number,
  ): Promise<AdmissionVerdict> {
    const old = leavingPod.safeParse(oldObject);
    const gone = key === null || dryRun === true || !old.success ? null : leavingOf({ ...review, oldObject: old.data });
    if (key !== null && gone !== null) await this.desk.leave(key, { ...gone, cluster: cluster ?? '' }, milliseconds);
    return ALLOWED;
  }
}

/** @throws Failure invalid where it is no pod */
function podOf(object: unknown): z.infer<typeof pod> {
  const parsed = pod.safeParse(object);
  if (parsed.success) return parsed.data;
  throw invalid(
    'the pod has problems',
    parsed.error.issues.map(({ path, message }) => ({
      path: ['request', 'object', ...path].map(String).join('/'),
      message,
    })),
  );
}

/** The API server's timeout in milliseconds, from a duration such as `3s` or `500ms`. */
function waitOf(timeout: string | undefined): number {
  const [, number, unit] = /^(\d{1,6}(?:\.\d{1,9})?)(ms|s)$/.exec(timeout ?? '') ?? [];
  return number === undefined ? DEFAULT_WAIT_MS : Number(number) * (unit === 's' ? 1000 : 1);
}

const keyInPath = ({ params }: FastifyRequest): string | null =>
  z.object({ key: z.string() }).safeParse(params).data?.key ?? null;

/** How long a look-up may wait for the database, in milliseconds. */
const lookupMs = (timeout: string | undefined): number => Math.min(MOST_LOOKUP_MS, waitOf(timeout) * SHARE_OF_WAIT);

function answerOf(uid: string, { allowed, status, warnings, audit }: AdmissionVerdict): Answer {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
      ...(Object.keys(audit).length === 0 ? {} : { auditAnnotations: { ...audit } }),
      ...(status === null
        ? {}
        : {
            status: { status: 'Failure' as const, code: status.code, reason: status.reason, message: status.message },
          }),
    },
  };
}

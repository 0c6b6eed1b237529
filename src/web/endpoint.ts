/**
 * An endpoint states once what it is: method and path, who may call it, what it takes and what it answers.
 *
 * The decorators here are Nest's own with metadata. Nest routes and validates with the same objects from which the
 * OpenAPI document is made, so that the two cannot differ.
 */
import {
  applyDecorators,
  Body,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { ZodType } from 'zod';
import type { Scope } from '../core/scopes.js';
import type { ReadBack } from './read-back.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: anybody, any known caller for what is their own, or a caller with this scope. */
export type Access = 'open' | 'known' | Scope;

export interface EndpointOptions {
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Concerns all teams at once: a key that is restricted to teams is refused. */
  readonly allTeams?: boolean;
  /** Open, and checks its key itself: other callers do not wait for the database first. */
  readonly checksKey?: boolean;
  /** Open, with a key that it checks itself: a caller with a valid key may send the whole body. */
  readonly knock?: Knock;
  /** Called by an orchestrator, and never rate-limited. */
  readonly isProbe?: boolean;
  /** Changes something: takes an Idempotency-Key. */
  readonly writes?: boolean;
  /** With a media type of its own; `example` where the media type alone says too little. */
  readonly answer: ZodType | { readonly media: string; readonly example?: string };
  /** Of a successful answer; 200 where absent. 202: the work is done later; 204: no content. */
  readonly status?: 201 | 202 | 204;
  /**
   * Media types taken in addition to JSON. `upload` takes any, as an unread stream; `bytes` takes any, as the raw bytes, for
   * requests that are signed over them.
   */
  readonly takes?: 'upload' | 'bytes' | readonly string[];
  /** Limit of the unpacked body; 1 MiB where absent. Not for uploads. */
  readonly mostBodyBytes?: number;
  /** The same for an unknown caller on an open route; 16 KiB where absent. Never compressed. */
  readonly mostUnknownBytes?: number;
  /**
   * Texts of the body that may have characters that cannot be stored: all, or these fields. The handler deals with
   * them.
   */
  readonly anyText?: 'all' | readonly string[];
  /** The handler gets a `LateBody`. */
  readonly isParsedLate?: boolean;
  /** What its query or body names may not exist: 404. Said by itself where the path names it. */
  readonly mayBeMissing?: boolean;
  /** What the answer of GET at the same address has beside the body of this PUT. */
  readonly readBack?: ReadBack;
}

/** The key of a request, and how many milliseconds its check may take. */
export type Knock = (request: FastifyRequest) => { readonly key: string | null; readonly milliseconds: number };

/** What the hooks and the body parser know about the route of a request. */
export interface RouteFacts {
  readonly access: Access;
  readonly checksKey: boolean;
  readonly allTeams: boolean;
  readonly writes: boolean;
  readonly takes: 'upload' | 'bytes' | readonly string[];
  readonly mostBodyBytes: number;
  readonly mostUnknownBytes: number;
  readonly anyText: 'all' | readonly string[];
  readonly isParsedLate: boolean;
  readonly readBack: ReadBack | null;
  readonly knock: Knock | null;
  readonly isProbe: boolean;
}

interface Inputs {
  body?: ZodType;
  query?: ZodType;
  readonly path: Map<string, ZodType>;
}

export interface DescribedEndpoint extends EndpointOptions {
  readonly method: Method;
  /** As OpenAPI writes it: `/v1/teams/{id}`. */
  readonly path: string;
  /** Class and method: `TeamsController.save`. */
  readonly handler: string;
  readonly inputs: Readonly<Inputs>;
}

const ENDPOINT = 'bursar:endpoint';
const INPUTS = 'bursar:inputs';
const NEST = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete } as const;
const MOST_BODY_BYTES = 1 << 20;
const MOST_UNKNOWN_BYTES = 16 << 10;

/** `@Endpoint('GET /v1/teams/:id', { ... })` on a method of a controller. */
export function Endpoint(route: `${Method} /${string}`, options: EndpointOptions): MethodDecorator {
  const [method, path] = route.split(' ') as [Method, string];
  const facts: RouteFacts = {
    access: options.access,
    checksKey: options.checksKey ?? false,
    allTeams: options.allTeams ?? false,
    writes: options.writes ?? false,
    takes: options.takes ?? [],
    mostBodyBytes: options.mostBodyBytes ?? MOST_BODY_BYTES,
    mostUnknownBytes: options.mostUnknownBytes ?? MOST_UNKNOWN_BYTES,
    anyText: options.anyText ?? [],
    isParsedLate: options.isParsedLate ?? false,
    readBack: options.readBack ?? null,
    knock: options.knock ?? null,
    isProbe: options.isProbe ?? false,
  };
  return applyDecorators(
    NEST[method](path),
    HttpCode(options.status ?? 200),
    RouteConfig(facts),
    SetMetadata(ENDPOINT, { method, path, options }),
  );
}

function note(target: object, name: string | symbol | undefined, add: (inputs: Inputs) => void): void {
  const handler = String(name);
  const inputs = (Reflect.getMetadata(INPUTS, target, handler) as Inputs | undefined) ?? {
    path: new Map<string, ZodType>(),
  };
  add(inputs);
  Reflect.defineMetadata(INPUTS, inputs, target, handler);
}

/** The JSON body, validated. */
export const JsonBody =
  (schema: ZodType): ParameterDecorator =>
  (target, name, index) => {
    Body({ schema })(target, name, index);
    note(target, name, (inputs) => (inputs.body = schema));
  };

/** The body as the parser left it: for batches whose records are validated by their reader. `schema` documents it. */
export const UncheckedBody =
  (schema: ZodType): ParameterDecorator =>
  (target, name, index) => {
    Body()(target, name, index);
    note(target, name, (inputs) => (inputs.body = schema));
  };

/** The whole query, validated: a strict object. */
export const QueryInput =
  (schema: ZodType): ParameterDecorator =>
  (target, name, index) => {
    Query({ schema })(target, name, index);
    note(target, name, (inputs) => (inputs.query = schema));
  };

/** One part of the path, validated. */
export const PathInput =
  (part: string, schema: ZodType): ParameterDecorator =>
  (target, name, index) => {
    Param(part, { schema })(target, name, index);
    note(target, name, (inputs) => inputs.path.set(part, schema));
  };

/** Every endpoint of the controllers, in source order. */
export function endpointsOf(controllers: readonly Type[]): DescribedEndpoint[] {
  return controllers.flatMap((controller) => {
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name): DescribedEndpoint[] => {
      const handler = prototype[name];
      if (typeof handler !== 'function') return [];
      const noted = Reflect.getMetadata(ENDPOINT, handler) as
        | { method: Method; path: string; options: EndpointOptions }
        | undefined;
      if (noted === undefined) return [];
      const inputs = (Reflect.getMetadata(INPUTS, prototype, name) as Inputs | undefined) ?? {
        path: new Map<string, ZodType>(),
      };
      return [
        {
          ...noted.options,
          method: noted.method,
          path: noted.path.replace(/:(\w+)/g, '{$1}'),
          handler: `${controller.name}.${name}`,
          inputs,
        },
      ];
    });
  });
}

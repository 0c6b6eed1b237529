/**
 * A policy as the API and the command line show it: its parameters as JSON Schema, made of the schema that validates
 * them. Makes the form and the documentation.
 */
import type { Policy } from './policy.js';

export interface PolicyDescription {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** JSON Schema (2020-12) of what a document may give as `params`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly examples: readonly {
    readonly title: string;
    readonly params: unknown;
    readonly proposes: readonly { readonly action: string; readonly target: string }[];
  }[];
}

export function describePolicy({ name, version, description, params, examples }: Policy): PolicyDescription {
  const { $schema: _, '~standard': __, ...parameters } = params.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  return {
    name,
    version,
    description,
    parameters,
    examples: examples.map(({ title, params: given, proposes }) => ({ title, params: given, proposes })),
  };
}

/**
 * A policy in the form of the API and the command line: its parameters as JSON Schema, generated from the schema that
 * validates them. The form in the dashboard and the documentation are generated from it.
 */
import type { Policy } from './policy.js';

export interface PolicyDescription {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** JSON Schema (2020-12) of a document's `params`. */
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

/** A SCIM error (RFC 7644, section 3.12): a status, a code for it, and a sentence. */

export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness';

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const SCIM_MEDIA = 'application/scim+json';
/** Errors below this address have SCIM's own form. */
export const SCIM_BASE = '/scim/v2';

export class ScimProblem extends Error {
  override readonly name = 'ScimProblem';

  constructor(
    readonly status: 400 | 409,
    readonly scimType: ScimType,
    message: string,
  ) {
    super(message);
  }
}

/** The document of an error. */
export function scimError(status: number, detail: string, scimType: ScimType | null): string {
  return JSON.stringify({
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === null ? {} : { scimType }),
    detail,
  });
}

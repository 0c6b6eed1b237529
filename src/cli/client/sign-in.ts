/**
 * The caller's identity as the server knows it.
 */
import type { Api } from './api.js';

/** As GET /session tells it. */
export interface SignedIn {
  readonly kind: 'key' | 'user';
  readonly id: string;
  readonly name: string;
  /** Null: a key that was given its scopes one by one. */
  readonly role: string | null;
  readonly scopes: readonly string[];
  /** Null: all. */
  readonly teams: readonly string[] | null;
}

export class SignInClient {
  constructor(private readonly api: Api) {}

  /** Null: the key is not one that the server knows. */
  async whoAmI(): Promise<SignedIn | null> {
    return (await this.api.call<{ signedIn: SignedIn | null }>('GET', '/session')).signedIn;
  }
}

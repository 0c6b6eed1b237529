/**
 * The caller's identity as the server knows it.
 */
import type { SignedIn } from '../answers.js';
import type { Api } from './api.js';

export class SignInClient {
  constructor(private readonly api: Api) {}

  /** Null: the key is not one that the server knows. */
  async whoAmI(): Promise<SignedIn | null> {
    return (await this.api.call<{ signedIn: SignedIn | null }>('GET', '/session')).signedIn;
  }
}

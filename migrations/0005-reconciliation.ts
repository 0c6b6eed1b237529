/** Reserved for what the reconciliation need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Reconciliation1764000000005 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}

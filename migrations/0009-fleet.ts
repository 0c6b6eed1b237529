/** Reserved for what the fleet needs; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Fleet1764000000009 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}

/** Reserved for what the telemetry need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Telemetry1764000000007 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}

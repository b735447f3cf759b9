// Two projects: unit tests beside the code, and scenarios that drive the built product.
import { defineConfig } from "vitest/config";

/** What is waited for comes in milliseconds; on a busy machine in seconds. A test that fails takes as long. */
const PATIENT = { poll: { timeout: 10_000 } };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/*.test.ts", "examples/**/*.test.ts"],
          testTimeout: 20_000,
          expect: PATIENT,
        },
      },
      {
        test: {
          name: "scenarios",
          include: ["test/scenarios/**/*.test.ts"],
          testTimeout: 120_000,
          expect: PATIENT,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});

// Three projects: unit tests beside the code, integration tests of its parts together, and scenarios that drive the built product.
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/lib/longest-first.js";

/** Scenarios wait for processes more than they compute. */
const WORKERS = Number(process.env["TENON_TEST_WORKERS"] ?? 3);

export default defineConfig({
  test: {
    globalSetup: ["scripts/lib/vitest-workers.ts", "test/test-store.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/*.test.ts", "examples/**/*.test.ts"],
          // One module graph per worker: loading it anew for each file took two thirds of the suite's time.
          isolate: false,
          restoreMocks: true,
          maxWorkers: 2, // vitest's own choice on two cores is one
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: "scenarios",
          include: ["test/scenarios/**/*.test.ts"],
          isolate: false,
          restoreMocks: true,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: WORKERS,
        },
      },
    ],
  },
});

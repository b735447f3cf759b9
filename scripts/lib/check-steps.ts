// Runs the steps of `npm run check` into a ledger.
import type { Ledger } from "./ledger.js";
import { STEPS, type Step } from "./steps.js";

/**
 * All steps, or those named; one fault does not hide the next, so later steps run all the same. Steps of one lane run one
 * after the other, the lanes at the same time, after the build; the tests also after what they need.
 */
export async function checkSteps(
  ledger: Ledger,
  only: readonly string[] = [],
  testsNeed: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const unknown = only.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0)
    throw new Error(`no such step: ${unknown.join(", ")}; there are ${STEPS.map(({ name }) => name).join(", ")}`);
  const wanted = STEPS.filter(({ name }) => only.length === 0 || only.includes(name));
  const lane = async (kind: Step["lane"]) => {
    for (const step of wanted.filter((one) => one.lane === kind)) {
      if (step.needs !== undefined && ledger.hasFailed(step.needs)) ledger.skip(step.name, `${step.needs} failed`);
      else await ledger.record(step.name, step.what, () => step.run());
    }
  };
  await lane("first");
  await Promise.all([lane("static"), testsNeed.then(() => lane("tests"))]);
}

// `tenon trust` on the real terminal.
import { realContext } from "../configuration/real-context.js";
import { runTrust } from "../configuration/trust.js";

export async function runTrustCommand(words: readonly string[]): Promise<void> {
  process.exitCode = await runTrust(words, realContext());
}

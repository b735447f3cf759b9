// Every kind of server, every way the host can end, once each: nothing is left. `npm run soak -- processes` does it tenfold.
import { expect } from "vitest";
import { HOST_ENDS, hasControlGroups, runCycle, SERVER_KINDS } from "./process-cycle.js";
import { scenario } from "./scenario.js";

const lacks = (await hasControlGroups()) ? {} : { lacks: "a control group that this user may write" };

for (const kind of SERVER_KINDS) {
  for (const end of HOST_ENDS) {
    scenario(
      ["A8", "S13", "M12", "H552"],
      `a ${kind} server leaves nothing when its host ends by ${end}`,
      async () => {
        const { processes, left, leftMs, allowedMs } = await runCycle(kind, end);
        expect(left).toEqual([]);
        expect(processes).toBeGreaterThanOrEqual(4); // the server, its two children, the guardian
        expect(leftMs).toBeLessThanOrEqual(allowedMs);
      },
      kind === "scrubbing" ? lacks : {},
    );
  }
}

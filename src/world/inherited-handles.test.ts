// What this process was handed by its parent ends here: no child of the World sees it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { handlesIn, stdioHiding } from "./processes.js";

const ROOT = join(import.meta.dirname, "../..");

test("nothing stands behind a handle that would be inherited, and the others are left alone", () => {
  expect(stdioHiding([], -1)).toEqual(["pipe", "pipe", "pipe"]);
  expect(stdioHiding([4, 6], 9)).toEqual(["pipe", "pipe", "pipe", "ignore", 9, "ignore", 9]);
  expect(handlesIn("/nowhere")).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "a folder left open by whoever started us is not open in a child",
  async () => {
    const script = `
    import { nodeWorld } from "./src/world/index.ts";
    import { handlesIn } from "./src/world/processes.ts";
    const child = nodeWorld().spawn({ command: "/bin/readlink", args: ["/proc/self/fd/200"], env: {}, cwd: "/" });
    let behind = "";
    child.stdout.on("data", (chunk) => { behind += chunk; });
    await child.exited;
    await child.release();
    process.stdout.write(JSON.stringify({ ours: handlesIn("/proc/self").includes(200), behind: behind.trim() }));`;
    const args = ["-c", 'exec 200</; exec "$@"', "sh", process.execPath];
    const host = spawn("/bin/bash", [...args, "--import", "tsx", "--input-type=module", "-e", script], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(host.stdout, "data");
    expect(JSON.parse(String(text))).toEqual({ ours: true, behind: "/dev/null" });
  },
);

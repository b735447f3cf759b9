// Pages are opened without a shell, and nothing but pages is.
import { expect, it } from "vitest";
import { openBrowser, openerFor } from "./login.js";

const NASTY = "https://auth.example/?a=1&b=$(touch%20x);`id`|calc.exe^&%26";

it.each([
  ["linux", "xdg-open", [NASTY]],
  ["freebsd", "xdg-open", [NASTY]],
  ["darwin", "open", [NASTY]],
  ["win32", "rundll32.exe", ["url.dll,FileProtocolHandler", NASTY]],
] as const)("on %s the address is one word of %s", (platform, command, args) => {
  expect(openerFor(platform, NASTY)).toEqual({ command, args });
});

it("starts nothing for what is no page, and says when there is no opener", async () => {
  const place = { platform: "linux", env: { PATH: "/nonexistent" } } as const;
  expect(await openBrowser(new URL("file:///etc/passwd"), place)).toBe("it is no web page");
  expect(await openBrowser(new URL("https://auth.example"), place)).toContain("ENOENT");
});

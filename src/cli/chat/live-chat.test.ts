// What the live chat needs of its process.
import { expect, it } from "vitest";
import { untilContinued } from "./live-chat.js";

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

it("keeps the process alive while it is stopped, and no longer", async () => {
  const before = timers();
  const continued = untilContinued();
  expect(timers()).toBe(before + 1);
  process.emit("SIGCONT", "SIGCONT");
  await continued;
  expect(timers()).toBe(before);
});

// Names that look alike have one skeleton, and others do not.
import { expect, it } from "vitest";
import { skeleton } from "./look-alike.js";

it.each([
  ["read_file", "Read-File"],
  ["read_file", "reаd_file"], // Cyrillic
  ["read_file", "read\u200b_file"],
  ["read_file", "ｒｅａｄ＿ｆｉｌｅ"],
  ["read_file", "read_fiIe"],
  ["read_file", "read_fi1e"],
  ["tool", "t00l"],
  ["ΝΟΤΕ", "note"],
  ["modern", "modem"],
  ["résumé", "resume"],
  ["wvv", "VVW"],
])("%s and %s look alike", (one, other) => expect(skeleton(one)).toBe(skeleton(other)));

it.each([
  ["read_file", "write_file"],
  ["list", "last"],
  ["search", "research"],
  ["読む", "書く"],
])("%s and %s do not", (one, other) => expect(skeleton(one)).not.toBe(skeleton(other)));

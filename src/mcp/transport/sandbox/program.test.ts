// What must be seen for a program to run: where it really lies and what runs it, and never more of a home than that.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FakeFiles, fakeWorld } from "../../../testing/index.js";
import { shebang } from "../launchers/words.js";
import { isWithin, showsTooMuch } from "./mounts.js";
import { argumentPlaces, commandFile, type ProgramSurroundings, programPlaces } from "./program.js";

const HOME = "/home/ada";

function surroundings(write: (files: FakeFiles) => void, path = "/usr/bin"): ProgramSurroundings {
  const { files } = fakeWorld();
  files.write("/usr/bin/node", "ELF", 0o755);
  files.write("/usr/bin/env", "ELF", 0o755);
  files.write("/bin/sh", "ELF", 0o755);
  write(files);
  return { files, path, cwd: "/work/project", homes: [HOME], directories: ["/work/project"] };
}

async function placesOf(command: string, around: ProgramSurroundings): Promise<readonly string[] | undefined> {
  const file = await commandFile(command, around);
  return file === undefined ? undefined : await programPlaces(file, around);
}

describe("the places of a command", () => {
  it("are none for programs of the system", async () => {
    const around = surroundings((files) => files.write("/usr/bin/tool", "#!/usr/bin/env node\n", 0o755));
    expect(await placesOf("node", around)).toEqual([]);
    expect(await placesOf("tool", around)).toEqual([]);
    expect(await placesOf("nobody", around)).toBeUndefined();
    expect(await placesOf("/usr/bin/none", around)).toBeUndefined();
  });

  it("are the whole of a version manager's folder, whose programs call each other", async () => {
    const bin = `${HOME}/.nvm/versions/node/v20/bin`;
    const around = surroundings((files) => {
      files.write(`${bin}/node`, "ELF", 0o755);
      files.write(`${HOME}/.nvm/versions/node/v20/lib/node_modules/npm/bin/npx-cli.js`, "#!/usr/bin/env node\n", 0o755);
      files.link(`${bin}/npx`, "../lib/node_modules/npm/bin/npx-cli.js");
    }, `${bin}:/usr/bin`);
    expect(await placesOf("npx", around)).toEqual([`${HOME}/.nvm`]);
  });

  it("follow links and first lines: a script of a venv, and the Python it leads to", async () => {
    const around = surroundings((files) => {
      files.write(`${HOME}/venv/bin/server`, `#!${HOME}/venv/bin/python\n`, 0o755);
      files.write(`${HOME}/pythons/3.12/bin/python3.12`, "ELF", 0o755);
      files.link(`${HOME}/venv/bin/python`, `${HOME}/pythons/3.12/bin/python3.12`);
    });
    expect(await placesOf(`${HOME}/venv/bin/server`, around)).toEqual([`${HOME}/venv`, `${HOME}/pythons/3.12`]);
  });

  it("are the outermost node_modules, whose packages load each other", async () => {
    const around = surroundings((files) => {
      files.write("/srv/tools/node_modules/server/node_modules/x/cli.js", "#!/usr/bin/env -S node --flag\n", 0o755);
      files.link("/srv/tools/node_modules/.bin/server", "../server/node_modules/x/cli.js");
    });
    expect(await placesOf("/srv/tools/node_modules/.bin/server", around)).toEqual(["/srv/tools/node_modules"]);
  });

  it("are the file alone where its folder would show more than programs", async () => {
    const around = surroundings((files) => {
      files.write(`${HOME}/server`, "ELF", 0o755);
      files.write(`${HOME}/.local/bin/server`, "ELF", 0o755);
      files.write("/work/server", "ELF", 0o755);
    });
    expect(await placesOf(`${HOME}/server`, around)).toEqual([`${HOME}/server`]);
    expect(await placesOf(`${HOME}/.local/bin/server`, around)).toEqual([`${HOME}/.local/bin`]);
    expect(await placesOf("/work/server", around)).toEqual(["/work/server"]); // beside the session's directory
  });

  it("are none for what lies in the session's directory, whatever it leads to or names", async () => {
    const around = surroundings((files) => {
      files.write(`${HOME}/.ssh/id`, "secret", 0o755);
      files.link("/work/project/server", `${HOME}/.ssh/id`);
      files.write("/work/project/script", `#!${HOME}/.ssh/id\n`, 0o755);
      files.write("/work/project/plain", "#!/usr/bin/env node\n", 0o755);
    });
    for (const name of ["server", "script", "plain"]) {
      expect(await placesOf(`/work/project/${name}`, around)).toEqual([]);
    }
  });

  it("never show a home or what is private in it", async () => {
    const name = fc.constantFrom("bin", "server", ".local", "code", "node_modules", ".ssh", "share", "x");
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 5 }), async (parts) => {
        const file = `${HOME}/${parts.join("/")}/program`;
        const around = surroundings((files) => files.write(file, "ELF", 0o755));
        for (const place of (await placesOf(file, around)) ?? []) {
          expect(isWithin(file, place)).toBe(true);
          expect(place === file || place.endsWith("node_modules") || !showsTooMuch(place, [HOME])).toBe(true);
          expect(place).not.toBe(HOME);
        }
      }),
    );
  });
});

describe("the places of arguments", () => {
  it("are the package of a script, and other files by themselves", async () => {
    const around = surroundings((files) => {
      files.write("/srv/server/package.json", "{}");
      files.write("/srv/server/dist/index.js", "");
      files.write("/srv/other/config.json", "{}");
      files.write("/work/project/in.txt", "");
    });
    const args = ["--flag", "/srv/server/dist/index.js", "/srv/other/config.json", "in.txt", "/srv/none", "/srv/other"];
    expect(await argumentPlaces(args, around)).toEqual(["/srv/server", "/srv/other/config.json"]);
    expect(await argumentPlaces(["in.txt", "/srv/other/config.json"], around)).toEqual(["/srv/other/config.json"]);
  });
});

it("reads the first line of scripts and of nothing else", () => {
  expect(shebang("#! /usr/bin/env -S node --x\nmore")).toEqual(["/usr/bin/env", "-S", "node", "--x"]);
  expect(shebang("#!/bin/sh")).toEqual(["/bin/sh"]);
  expect(shebang("ELF #!/bin/sh")).toEqual([]);
  fc.assert(fc.property(fc.string(), (text) => shebang(`#!${text}`).every((word) => !/[ \t\n]|^$/u.test(word))));
});

const [, , name = ""] = process.argv;
const isNamed = name === "worker" || name === "workflow";
if (isNamed) process.argv.splice(2, 1);
await import(isNamed ? `./${name}.ts` : "./demo.ts");

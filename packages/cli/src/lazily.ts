/** An action whose module is loaded when it runs: the commands of operators load the whole service. */
export const lazily =
  <Module, Arguments extends unknown[]>(load: () => Promise<Module>, choose: (module: Module) => (...args: Arguments) => unknown) =>
  async (...args: Arguments): Promise<void> => {
    await choose(await load())(...args);
  };

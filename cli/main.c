/* weir: what a person types. Finds the command in the table and runs it. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}

module cactusactors/clients

go 1.19

module gotemplate

go 1.26
